import torch


def train(model, loss_fn, optimizer, scaler, batches, device):
    for x, y in batches:
        with torch.autocast(device_type="cpu", dtype=torch.bfloat16):
            error = loss_fn(model(x), y)
        error.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
