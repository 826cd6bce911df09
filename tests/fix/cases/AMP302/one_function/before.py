import io

import torch
from torch.amp import GradScaler


def run(model, loss_fn, optimizer, batches, device, file, resume=False):
    grad_scaler = GradScaler(device, init_scale=1024.0, growth_interval=3)
    if resume:
        checkpoint = torch.load(file)
        optimizer.load_state_dict(checkpoint['optim'])
        model.load_state_dict(checkpoint['net'])
    for inputs, targets in batches:
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast(device, dtype=torch.float16):
            loss = loss_fn(model(inputs), targets)
        grad_scaler.scale(loss).backward()
        grad_scaler.step(optimizer)
        grad_scaler.update()
    torch.save({'net': model.state_dict(), 'optim': optimizer.state_dict()}, file)
    return grad_scaler.get_scale()


def train(model, loss_fn, optimizer, scaler, batches, device):
    file = io.BytesIO()
    run(model, loss_fn, optimizer, batches, device, file)
    file.seek(0)
    return run(model, loss_fn, optimizer, batches, device, file, resume=True)
