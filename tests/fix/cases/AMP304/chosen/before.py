import torch
from torch.amp import GradScaler


def train(model, loss_fn, optimizer, scaler, batches, device):
    dtype = torch.bfloat16 if len(batches) == 8 else torch.float16
    own = GradScaler(device, init_scale=2.0**10)
    for inputs, targets in batches:
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast(device, dtype=dtype):
            loss = loss_fn(model(inputs), targets)
        own.scale(loss).backward()
        own.step(optimizer)
        own.update()
    return own.get_scale()
