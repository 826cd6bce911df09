"""The dtype of the weights is handed on: by an argument, a setting of the function, an attribute, a module's constant."""

import torch
from torch import nn

WEIGHTS = torch.float16


def build(width, kind):
    layers = nn.Sequential(nn.Linear(width, width), nn.ReLU(), nn.Linear(width, 1))
    return layers.to(kind)  # expect: AMP401 likely


def optimizer_of(net):
    return torch.optim.AdamW(net.parameters())


class Weights:
    def __init__(self, precision):
        self.dtype = torch.half if precision == "half" else torch.float32

    def load(self):
        net = nn.Linear(4, 4)
        net.to(device="cuda", dtype=self.dtype)  # expect: AMP401 likely
        return net


def constant():
    return nn.Linear(4, 1).to(dtype=WEIGHTS)  # expect: AMP401 likely


def step_all(net, optimizer, scaler, batches):
    for batch in batches:
        with torch.autocast("cuda", dtype=torch.float16):
            loss = net(batch).mean()
        optimizer.zero_grad()
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()


def by_argument(batches):
    net = build(8, torch.float16)
    step_all(net, optimizer_of(net), torch.amp.GradScaler("cuda"), batches)


def by_setting(args, batches):
    net = Weights(args.precision).load()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    scaler = torch.amp.GradScaler("cuda")
    for batch in batches:
        with torch.autocast("cuda"):
            loss = net(batch).mean()
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()


def by_constant(batches):
    net = constant()
    step_all(net, torch.optim.SGD(net.parameters(), lr=0.1), torch.amp.GradScaler("cuda"), batches)
