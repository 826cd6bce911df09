import torch


def train(model, loss_fn, optimizer, scaler, batches, device):
    own = torch.amp.GradScaler(device, enabled=False)  # for half precision
    for inputs, targets in batches:
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast(device, dtype=torch.bfloat16):
            loss = loss_fn(model(inputs), targets)
        own.scale(loss).backward()
        own.step(optimizer)
        own.update()
