import torch


def train(model, loss_fn, optimizer, scaler, batches, device):
    # verifygate: ignore[AMP201] there was a clip here once
    for inputs, targets in batches:  # verifygate: ignore[AMP206] there was no scaler once
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast(device, dtype=torch.float16):
            loss = loss_fn(model(inputs), targets)
        scaler.scale(loss).backward()
        # in step with the scale
        # verifygate: ignore[step-bypasses-scaler] it did once
        scaler.step(optimizer)
        scaler.update()
