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
