import torch


def train(model, loss_fn, optimizer, scaler, batches, device):
    own = torch.amp.GradScaler(
        device,
        # room to grow
        init_scale=2.0**10,
        growth_interval=100,  # rarely
        enabled=False,
    )
    for inputs, targets in batches:
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast(device, dtype=torch.bfloat16):
            loss = loss_fn(model(inputs), targets)
        own.scale(loss).backward()
        own.step(optimizer)
        own.update()
    return own.get_scale()
