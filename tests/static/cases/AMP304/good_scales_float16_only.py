import torch


def by_option(model, loss_fn, optimizer, batches, options):
    """The scaler is always there, and bfloat16 goes past it."""
    scaler = torch.amp.GradScaler("cuda")
    dtype = torch.bfloat16 if options.bf16 else torch.float16
    for inputs, targets in batches:
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast("cuda", dtype=dtype):
            loss = loss_fn(model(inputs), targets)
        if options.bf16:
            loss.backward()
            optimizer.step()
        else:
            scaler.scale(loss).backward()
            scaler.step(optimizer)
            scaler.update()


def by_dtype(model, loss_fn, optimizer, batches, options):
    scaler = torch.amp.GradScaler("cuda")
    dtype = {"bf16": torch.bfloat16, "fp16": torch.float16}[options.precision]
    scales = dtype != torch.bfloat16 and options.amp
    for inputs, targets in batches:
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast("cuda", dtype=dtype):
            loss = loss_fn(model(inputs), targets)
        if not scales:
            loss.backward()
            optimizer.step()
        else:
            scaler.scale(loss).backward()
            scaler.step(optimizer)
            scaler.update()
