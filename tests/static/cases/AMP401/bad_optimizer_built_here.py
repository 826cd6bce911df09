"""Where the model is made half its optimizer is built; the step is elsewhere."""

import torch


def train_epoch(loader, model, criterion, optimizer, scaler):
    for inputs, targets in loader:
        with torch.autocast("cuda"):
            loss = criterion(model(inputs), targets)
        optimizer.zero_grad()
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()


def main(loader, criterion):
    model = torch.nn.Linear(4, 4).cuda()
    model.half()  # expect: AMP401
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    scaler = torch.amp.GradScaler("cuda")
    for _ in range(3):
        train_epoch(loader, model, criterion, optimizer, scaler)


def build(model, rate):
    model.half()  # expect: AMP401
    matrices = [each for each in model.parameters() if each.dim() > 1]
    groups = [{"params": matrices}]
    return torch.optim.AdamW(groups, lr=rate)


def fine_tune(loader, criterion, net):
    optimizer = build(net, 1e-4)
    scaler = torch.amp.GradScaler("cuda")
    for inputs, targets in loader:
        with torch.autocast("cuda"):
            loss = criterion(net(inputs), targets)
        optimizer.zero_grad()
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        torch.nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
