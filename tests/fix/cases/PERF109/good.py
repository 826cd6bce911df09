def train(model, loss_fn, optimizer, scaler, batches, device):
    for x, y in batches:
        loss_fn(model(x), y).backward()
        optimizer.step()
        optimizer.zero_grad()
