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


def train_in_parts(model, loss_fn, optimizer, scaler, loader, rate):
    for inputs, targets in loader:
        rates = [value.item() for value in torch.linspace(0, rate, len(model.blocks))]
        for block, each in zip(model.blocks, rates):
            block.rate = each
        optimizer.zero_grad()
        with torch.autocast("cuda"):
            loss = loss_fn(model(inputs.cuda()), targets.cuda())
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
