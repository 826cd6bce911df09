"""The training is over where the model is made half, or it makes the model float again, or trains another one."""

import torch


def train_epoch(loader, model, criterion, optimizer, scaler):
    for inputs, targets in loader:
        with torch.autocast("cuda"):
            loss = criterion(model(inputs), targets)
        optimizer.zero_grad()
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()


def train_in_float(loader, model, criterion, optimizer, scaler):
    model.float()
    train_epoch(loader, model, criterion, optimizer, scaler)


def half_for_a_while(loader, criterion):
    model = torch.nn.Linear(4, 4).cuda()
    model.half()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    scaler = torch.amp.GradScaler("cuda")
    train_in_float(loader, model, criterion, optimizer, scaler)


def exported(loader, criterion):
    model = torch.nn.Linear(4, 4).cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    scaler = torch.amp.GradScaler("cuda")
    train_epoch(loader, model, criterion, optimizer, scaler)
    model.half()
    torch.save(model.state_dict(), "half.pt")


def distilled(loader, criterion):
    teacher = torch.nn.Linear(4, 4).cuda()
    student = torch.nn.Linear(4, 4).cuda()
    teacher.half()
    optimizer = torch.optim.SGD(student.parameters(), lr=0.1)
    scaler = torch.amp.GradScaler("cuda")
    train_epoch(loader, student, lambda out, target: criterion(out, teacher(target)), optimizer, scaler)


def floated(model, rate):
    model.half()
    return torch.optim.AdamW(model.parameters(), lr=rate)


def fine_tune(loader, criterion, net):
    optimizer = floated(net, 1e-4)
    net.float()
    scaler = torch.amp.GradScaler("cuda")
    for inputs, targets in loader:
        with torch.autocast("cuda"):
            loss = criterion(net(inputs), targets)
        optimizer.zero_grad()
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
