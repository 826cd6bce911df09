import torch


def train(model, loss_fn, optimizer, scaler, loader):
    for inputs, targets in loader:
        start = torch.randint(0, inputs.shape[1] - 100, (1,)).item()
        chance = torch.rand(1).item()
        part = inputs[:, start : start + 100].cuda() * chance
        optimizer.zero_grad()
        with torch.autocast("cuda"):
            loss = loss_fn(model(part), targets.cuda())
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
