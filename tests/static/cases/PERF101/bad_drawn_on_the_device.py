import torch


def train(model, loss_fn, optimizer, scaler, loader):
    for inputs, targets in loader:
        chance = torch.rand(1, device="cuda").item()  # expect: PERF101 likely
        part = inputs.cuda() * chance
        optimizer.zero_grad()
        with torch.autocast("cuda"):
            loss = loss_fn(model(part), targets.cuda())
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
