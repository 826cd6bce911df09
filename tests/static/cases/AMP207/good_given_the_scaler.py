"""A wrapper around optimizers that is given the scaler steps through it."""


def train(model, optimizer, scaler, batches):
    for batch in batches:
        optimizer.zero_grad()
        if scaler is not None:
            scaler.scale(model(batch)).backward()
        else:
            model(batch).backward()
        optimizer.step("generator", scaler=scaler)
        optimizer.step("mapping", scaler)
