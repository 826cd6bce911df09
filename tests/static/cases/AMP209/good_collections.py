"""Every optimizer of a collection steps once before the update, though the statement runs several times."""


def of_a_list(model, optimizers, scaler, batches):
    for batch in batches:
        scaler.scale(model(batch)).backward()
        for optimizer in optimizers:
            scaler.step(optimizer)
        scaler.update()
        for optimizer in optimizers:
            optimizer.zero_grad()


def of_a_dict(optimizers, scaler):
    for name, optimizer in optimizers.items():
        if any(p.grad is not None for group in optimizer.param_groups for p in group["params"]):
            scaler.step(optimizer)


def one_after_the_other(model, optimizers, scaler, batches):
    for i, batch in enumerate(batches):
        optimizer = optimizers[i % len(optimizers)]
        optimizer.zero_grad()
        scaler.scale(model(batch)).backward()
        scaler.step(optimizer)
        scaler.update()


def behind_the_last_of_them(model, optimizers, scaler, batches):
    for batch in batches:
        for index, optimizer in enumerate(optimizers):
            scaler.scale(model(batch, index)).backward()
            scaler.step(optimizer)
            if index == len(optimizers) - 1:
                scaler.update()
            optimizer.zero_grad()


def on_the_last_micro_batch(model, optimizer, scaler, groups, window):
    for group in groups:
        for micro in range(window):
            scaler.scale(model(group[micro]) / window).backward()
            if micro == window - 1:
                scaler.step(optimizer)
                scaler.update()
        optimizer.zero_grad()


def where_any_was_stepped(model, optimizers, scaler, batches):
    for batch in batches:
        stepped = False
        for index, o in enumerate(optimizers):
            o.zero_grad()
            loss = model(batch, index)
            if loss is None:
                continue
            scaler.scale(loss).backward()
            scaler.step(o)
            stepped = True
        if stepped:
            scaler.update()
