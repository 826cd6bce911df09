import torch


def by_another_option(model, loss_fn, optimizer, batches, options):
    """What leads past the scaler has nothing to do with the dtype."""
    scaler = torch.amp.GradScaler("cuda")  # expect: AMP304 likely
    dtype = torch.bfloat16 if options.bf16 else torch.float16
    for inputs, targets in batches:
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast("cuda", dtype=dtype):
            loss = loss_fn(model(inputs), targets)
        if options.plain or (options.bf16 and options.plain):
            loss.backward()
            optimizer.step()
        else:
            scaler.scale(loss).backward()
            scaler.step(optimizer)
            scaler.update()


def by_a_wrong_one(model, loss_fn, optimizer, batches, options):
    """It is float16 that goes past it."""
    scaler = torch.amp.GradScaler("cuda")  # expect: AMP304 likely
    dtype = torch.bfloat16 if options.bf16 else torch.float16
    for inputs, targets in batches:
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast("cuda", dtype=dtype):
            loss = loss_fn(model(inputs), targets)
        if not options.bf16:
            loss.backward()
            optimizer.step()
        else:
            scaler.scale(loss).backward()
            scaler.step(optimizer)
            scaler.update()
