import torch


def train(model, loss_fn, optimizer, scaler, batches, device):
    # verifygate: ignore[AMP216] it accumulated once
    for inputs, targets in batches:  # verifygate: ignore[PERF104] its loader had no workers once
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast(device, dtype=torch.float16):
            loss = loss_fn(model(inputs), targets)
        scaler.scale(loss).backward()
        # in step with the scale
        # verifygate: ignore[empty-cache-in-loop] it did once
        scaler.step(optimizer)
        scaler.update()
