"""Optimizers of a collection that were stepped, and an update that only the last of them brings."""


def the_last_may_be_left_out(model, optimizers, scaler, batches):
    for batch in batches:
        for index, optimizer in enumerate(optimizers):
            loss = model(batch, index)
            if loss is None:
                continue
            scaler.scale(loss).backward()
            scaler.step(optimizer)  # expect: AMP209
            if index == len(optimizers) - 1:
                scaler.update()
            optimizer.zero_grad()


def never(models, optimizers, scaler, batches):
    for batch in batches:
        for model, optimizer in zip(models, optimizers):
            optimizer.zero_grad()
            scaler.scale(model(batch)).backward()
            scaler.unscale_(optimizer)
            scaler.step(optimizer)  # expect: AMP209
