import torch


def train(model, loss_fn, optimizer, scaler, batches, device):
    optimizers = [optimizer]
    for inputs, targets in batches:
        for each in optimizers:
            each.zero_grad(set_to_none=True)
        with torch.autocast(device, dtype=torch.float16):
            loss = loss_fn(model(inputs), targets)
        scaler.scale(loss).backward()
        for each in optimizers:
            scaler.step(each)
            # one after the other
        # and then the next batch
