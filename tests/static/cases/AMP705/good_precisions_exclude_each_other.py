"""The weights are bfloat16 for one word of a setting, and the scaler is there for another."""

import torch


def chosen(net, rows, loss_fn, options):
    if options["precision"] == "bf16":
        net.to(torch.bfloat16)
    adam = torch.optim.SGD(net.parameters(), lr=0.1)
    scaler = torch.amp.GradScaler("cuda") if options["precision"] == "fp16_autocast" else None
    scaled = scaler is not None
    for row, target in rows:
        loss = loss_fn(net(row), target)
        if scaled:
            scaler.scale(loss).backward()
            scaler.step(adam)
            scaler.update()
        else:
            loss.backward()
            adam.step()


def made_in_a_branch(net, rows, loss_fn, dtype):
    scaler = None
    if dtype == "float16":
        scaler = torch.amp.GradScaler("cuda")
    elif dtype in ("bfloat16", "bf16"):
        net = net.bfloat16()
    sgd = torch.optim.SGD(net.parameters(), lr=0.1)
    for row, target in rows:
        loss = loss_fn(net(row), target)
        if scaler:
            scaler.scale(loss).backward()
            scaler.step(sgd)
            scaler.update()
        else:
            loss.backward()
            sgd.step()


class Loop:
    def __init__(self, net, mode):
        self.net = net
        self.mode = mode

    def run(self, rows, loss_fn):
        net = self.net
        if self.mode == 1:
            net = net.to(torch.bfloat16)
        sgd = torch.optim.SGD(net.parameters(), lr=0.1)
        if self.mode == 2:
            scaler = torch.amp.GradScaler("cuda")
            for row, target in rows:
                scaler.scale(loss_fn(net(row), target)).backward()
                scaler.step(sgd)
                scaler.update()
