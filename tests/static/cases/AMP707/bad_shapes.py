"""Models that are trained, made half and brought back."""

import torch
from torch import nn


def score(network, batches):
    network.eval().half()  # expect: AMP707
    with torch.no_grad():
        right = sum(network(batch.half()).sum().item() for batch in batches)
    network.train().float()
    return right


def main(batches, held_out):
    net = nn.Linear(4, 1)
    opt = torch.optim.AdamW(net.parameters(), lr=1e-3)
    for batch in batches:
        net(batch).mean().backward()
        opt.step()
        score(net, held_out)


def saves_in_half(batches, path):
    net = nn.Linear(4, 1)
    opt = torch.optim.AdamW(net.parameters(), lr=1e-3)
    for batch in batches:
        net(batch).mean().backward()
        opt.step()
        torch.save(net.half().state_dict(), path)  # expect: AMP707
        net.to(torch.float32)


class Trainer:
    def __init__(self, model):
        self.model = model
        self.opt = torch.optim.SGD(self.model.parameters(), lr=0.1)

    def begin_evaluation(self):
        self.model.to(dtype=torch.bfloat16)  # expect: AMP707 likely

    def end_evaluation(self):
        self.model.to(dtype=torch.float32)

    def run(self, batch, in_half):
        if in_half:
            self.model.half()  # expect: AMP707 likely
        out = self.model(batch)
        self.model.float()
        return out
