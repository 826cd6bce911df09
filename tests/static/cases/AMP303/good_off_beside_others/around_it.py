import torch


def step(model, loss_fn, optimizer, scaler, inputs, targets):
    with torch.autocast("cuda", enabled=False):
        loss = loss_fn(model(inputs.float()), targets)
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
    optimizer.zero_grad()


def train(embed, model, loss_fn, optimizer, batches):
    scaler = torch.amp.GradScaler("cuda")
    for inputs, targets in batches:
        with torch.autocast("cuda"):
            step(model, loss_fn, optimizer, scaler, inputs, targets)
