import torch


def train(model, loss_fn, optimizer, batches):
    scaler = torch.amp.GradScaler("cuda")
    for inputs, targets in batches:
        with torch.autocast("cuda"):
            loss = loss_fn(model(inputs), targets)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad()
