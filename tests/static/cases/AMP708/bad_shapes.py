"""Checkpoints that a training resumes from, with half weights."""

import copy

import torch


def train(model, loss_fn, loader, path):
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    state = torch.load(path)
    model.load_state_dict(state["model"])
    optimizer.load_state_dict(state["optimizer"])
    for inputs, targets in loader:
        optimizer.zero_grad()
        loss_fn(model(inputs), targets).backward()
        optimizer.step()
    half = {name: weight.half() for name, weight in model.state_dict().items()}  # expect: AMP708
    torch.save({"model": half, "optimizer": optimizer.state_dict()}, path)


def train_copy(model, loss_fn, loader, path):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for inputs, targets in loader:
        optimizer.zero_grad()
        loss_fn(model(inputs), targets).backward()
        optimizer.step()
    state = dict(
        model=copy.deepcopy(model).to(torch.bfloat16).state_dict(),  # expect: AMP708
        optimizer=optimizer.state_dict(),
    )
    torch.save(state, path)


def rounded(state):
    return {
        name: weight.to(torch.bfloat16) if weight.is_floating_point() else weight  # expect: AMP708
        for name, weight in state.items()
    }


def train_by_a_helper(net, loss_fn, loader, path):
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for inputs, targets in loader:
        optimizer.zero_grad()
        loss_fn(net(inputs), targets).backward()
        optimizer.step()
    record = {"epoch": 1}
    record["optimizer"] = optimizer.state_dict()
    record["weights"] = rounded(net.state_dict())
    torch.save(record, path)


def unwrap(model):
    return model.module if isinstance(model, torch.nn.parallel.DistributedDataParallel) else model


class Trainer:
    def __init__(self, model):
        self.model = model
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.1)

    def fit(self, loss_fn, loader, path):
        for inputs, targets in loader:
            self.optimizer.zero_grad()
            loss_fn(self.model(inputs), targets).backward()
            self.optimizer.step()
        state = {
            "model": copy.deepcopy(unwrap(self.model)).half(),  # expect: AMP708
            "optimizer": self.optimizer.state_dict(),
        }
        torch.save(state, path)
