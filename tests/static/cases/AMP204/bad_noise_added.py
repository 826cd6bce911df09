import torch


def disturb(model, eta):
    for p in model.parameters():
        p.grad += torch.randn_like(p.grad) * eta  # expect: AMP204


def drown(model, eta):
    for p in model.parameters():
        p.grad = p.grad + eta * torch.randn_like(p)  # expect: AMP204


def train(model, loss_fn, optimizer, batches):
    scaler = torch.amp.GradScaler("cuda")
    for inputs, targets in batches:
        optimizer.zero_grad()
        with torch.autocast("cuda", dtype=torch.float16):
            loss = loss_fn(model(inputs), targets)
        scaler.scale(loss).backward()
        disturb(model, 0.1)
        drown(model, 0.1)
        scaler.step(optimizer)
        scaler.update()
