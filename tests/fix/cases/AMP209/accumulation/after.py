import torch


def train(model, loss_fn, optimizer, scaler, batches, device):
    for number, (inputs, targets) in enumerate(batches, 1):
        with torch.autocast(device, dtype=torch.float16):
            loss = loss_fn(model(inputs), targets) / 2
        scaler.scale(loss).backward()
        if number % 2 == 0:
            scaler.step(optimizer)
            scaler.update()
            optimizer.zero_grad(set_to_none=True)
