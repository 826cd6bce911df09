import torch


def train(model, loss_fn, optimizer, batches, mixed):
    scaler = torch.amp.GradScaler("cuda", enabled=mixed)
    for inputs, targets in batches:
        if mixed:
            with torch.autocast("cuda"):
                loss = loss_fn(model(inputs), targets)
        else:
            with torch.autocast("cuda", enabled=False):
                loss = loss_fn(model(inputs), targets)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad()
