"""A context that is kept under a key, or asked for by a method, both of which say what it is."""


def kept(model, contexts, batches):
    for batch in batches:
        with contexts["autocast"]:
            loss = model(batch).mean()
            loss.backward()  # expect: AMP101


def asked_for(model, accelerator, batches):
    for batch in batches:
        with accelerator.autocast_context("forward"):
            loss = model(batch).mean()
            loss.backward()  # expect: AMP101
