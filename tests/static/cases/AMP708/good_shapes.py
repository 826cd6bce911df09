"""Half weights to be used, beside whole ones to go on with; averages; and models that are trained in half."""

import copy

import torch


def resume(model, optimizer, path):
    state = torch.load(path)
    model.load_state_dict(state["model"])
    optimizer.load_state_dict(state["optimizer"])


def train(model, loss_fn, loader, path):
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    resume(model, optimizer, path)
    for inputs, targets in loader:
        optimizer.zero_grad()
        loss_fn(model(inputs), targets).backward()
        optimizer.step()
    half = {name: weight.half() for name, weight in model.state_dict().items()}
    torch.save(half, "for_use.pt")
    torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict()}, path)
    torch.save({"model": model.state_dict(), "half": half, "optimizer": optimizer.state_dict()}, path)


def train_with_average(model, average, loss_fn, loader, path):
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    for inputs, targets in loader:
        optimizer.zero_grad()
        loss_fn(model(inputs), targets).backward()
        optimizer.step()
    state = {
        "model": model.state_dict(),
        "average": copy.deepcopy(average).half().state_dict(),
        "optimizer": optimizer.state_dict(),
    }
    torch.save(state, path)


def train_in_half(loss_fn, loader, path):
    model = torch.nn.Linear(8, 8).bfloat16()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for inputs, targets in loader:
        optimizer.zero_grad()
        loss_fn(model(inputs), targets).backward()
        optimizer.step()
    half = {name: weight.bfloat16() for name, weight in model.state_dict().items()}
    torch.save({"model": half, "optimizer": optimizer.state_dict()}, path)


def train_and_save_whole(model, loss_fn, loader, path):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for inputs, targets in loader:
        optimizer.zero_grad()
        loss_fn(model(inputs), targets).backward()
        optimizer.step()
    whole = {name: weight.float().cpu() for name, weight in model.state_dict().items()}
    torch.save({"model": whole, "optimizer": optimizer.state_dict()}, path)
