import torch


def train(model, loss_fn, optimizer, scaler, batches, device):
    uninterrupted = torch.amp.GradScaler(device, init_scale=1024.0, growth_interval=3)
    for _ in range(2):
        for x, y in batches:
            with torch.autocast(device_type="cpu", dtype=torch.float16):
                error = loss_fn(model(x), y)
            uninterrupted.scale(error).backward()
            uninterrupted.step(optimizer)
            uninterrupted.update()
            optimizer.zero_grad()
    return uninterrupted.get_scale()
