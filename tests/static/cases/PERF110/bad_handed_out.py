"""Losses handed out by what takes the step, kept in dicts and lists of dicts, and those of a counted evaluation."""

import torch
from torch import nn


class Runner:
    def __init__(self, net):
        self.net = net
        self.opt = torch.optim.SGD(net.parameters(), lr=0.1)
        self.scaler = torch.amp.GradScaler("cuda")
        self.history = []

    def one(self, batch):
        x, y = batch
        with torch.autocast("cuda", dtype=torch.float16):
            value = nn.functional.cross_entropy(self.net(x), y)
        self.scaler.scale(value).backward()
        self.scaler.step(self.opt)
        self.scaler.update()
        return {"objective": value, "n": len(x)}

    def fit(self, batches):
        logs = []
        total = 0.0
        count = 0
        for batch in batches:
            out = self.one(batch)
            logs.append(out)  # expect: PERF110 likely
            total += out["objective"]  # expect: PERF110 likely
            count += out["n"]
            self.history.append(out["objective"].item())
        return logs, total


def score(net, steps, make):
    net.eval()
    worst = {}
    for k in range(steps):
        x, y = make()
        with torch.autocast("cuda", dtype=torch.float16):
            err = nn.functional.mse_loss(net(x), y)
        worst[k] = err  # expect: PERF110
    return worst


def tr(net, opt, scaler, batches):
    curves = {"a": [], "b": []}
    for x, y in batches:
        with torch.autocast("cuda", dtype=torch.float16):
            l1 = nn.functional.cross_entropy(net(x), y)
            l2 = net(x).pow(2).mean()
            loss = l1 + 0.1 * l2
        scaler.scale(loss).backward()
        scaler.step(opt)
        scaler.update()
        opt.zero_grad()
        curves["a"].append(loss)  # expect: PERF110
        curves["b"].append(loss.detach())
    return curves


if __name__ == "__main__":
    net = nn.Linear(3, 3)
    r = Runner(net)
    print(r.fit([1]))
    score(net, 3, lambda: (torch.randn(2, 3), torch.randn(2, 3)))
