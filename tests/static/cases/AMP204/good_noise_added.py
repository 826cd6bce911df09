import torch


def made_up(model):
    """Other gradients take their place: what they were is not read."""
    for p in model.parameters():
        p.grad = torch.randn_like(p)


def train(model, loss_fn, optimizer, batches):
    scaler = torch.amp.GradScaler("cuda")
    for inputs, targets in batches:
        optimizer.zero_grad()
        with torch.autocast("cuda", dtype=torch.float16):
            loss = loss_fn(model(inputs), targets)
        scaler.scale(loss).backward()
        made_up(model)
        scaler.step(optimizer)
        scaler.update()
