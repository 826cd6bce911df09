import torch


def train(model, loss_fn, optimizer, scaler, batches, device):
    for inputs, targets in batches:
        with torch.autocast(device, dtype=torch.bfloat16):
            loss = loss_fn(model(inputs), targets)
        loss.backward()
        with torch.autocast(device, dtype=torch.bfloat16):
            last = loss.item()

        optimizer.step()  # no matrix products here
        optimizer.zero_grad(set_to_none=True)
    return last > 0
