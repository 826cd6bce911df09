"""Captures that hold the scaler's step: in the block, in a method that it calls, with an optimizer of unknown make."""

import torch
from torch.cuda import CUDAGraph
from torch.cuda import graph as capture


class Trainer:
    def __init__(self, net):
        self.net = net
        self.opt = torch.optim.RMSprop(net.parameters())
        self.scaler = torch.amp.GradScaler("cuda")

    def iteration(self, x):
        with torch.autocast("cuda", dtype=torch.float16):
            cost = self.net(x).sum()
        self.scaler.scale(cost).backward()
        self.scaler.step(self.opt)  # expect: AMP222 certain
        self.scaler.update()

    def record(self, x):
        recorded = CUDAGraph()
        with capture(recorded):
            self.iteration(x)
        return recorded


def given(net, opt, x, pool):
    gs = torch.amp.GradScaler("cuda")
    recorded = torch.cuda.CUDAGraph()
    with torch.cuda.graph(recorded, pool=pool):
        with torch.autocast("cuda", dtype=torch.float16):
            cost = net(x).sum()
        gs.scale(cost).backward()
        gs.step(opt)  # expect: AMP222 likely
        gs.update()
    return recorded
