import torch


def train(model, loss_fn, optimizer, scaler, batches, device):
    total = 0.0
    for inputs, targets in batches:
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast(device, dtype=torch.float16):
            loss = loss_fn(model(inputs), targets)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        total += (
            # the mean
            loss
            / len(batches)  # of all
        )
    return float(total)
