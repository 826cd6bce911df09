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


def train_by_parts(model, loss_fn, optimizer, scaler, loader, rate):
    for inputs, targets in loader:
        rates = [value.item() for value in torch.linspace(0, rate, len(model.blocks), device="cuda")]  # expect: PERF101 likely
        for block, each in zip(model.blocks, rates):
            block.rate = each
        optimizer.zero_grad()
        with torch.autocast("cuda"):
            loss = loss_fn(model(inputs.cuda()), targets.cuda())
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
