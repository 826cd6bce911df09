import io

import torch


def run(model, loss_fn, optimizer, batches, device, file, resume=False):
    scaler = torch.amp.GradScaler(device, init_scale=1024.0, growth_interval=3)
    if resume:
        checkpoint = torch.load(file)
        model.load_state_dict(checkpoint["model"])
        optimizer.load_state_dict(checkpoint["optimizer"])
        if checkpoint.get("amp_scaler"):
            scaler.load_state_dict(checkpoint["amp_scaler"])
    for inputs, targets in batches:
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast(device, dtype=torch.float16):
            loss = loss_fn(model(inputs), targets)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
    state = {"model": model.state_dict(), "optimizer": optimizer.state_dict(), "amp_scaler": scaler.state_dict()}
    torch.save(state, file)
    return scaler.get_scale()


def train(model, loss_fn, optimizer, scaler, batches, device):
    file = io.BytesIO()
    run(model, loss_fn, optimizer, batches, device, file)
    file.seek(0)
    return run(model, loss_fn, optimizer, batches, device, file, resume=True)
