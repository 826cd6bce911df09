"""Evaluations with autograd on, in regions with delayed scaling or the default recipe."""

import torch
import transformer_engine.pytorch as te
from transformer_engine.common.recipe import DelayedScaling


def in_the_loop(net, criterion, opt, loader, held_out):
    recipe = DelayedScaling(amax_history_len=16)
    for x, y in loader:
        opt.zero_grad()
        with te.fp8_autocast(enabled=True, fp8_recipe=recipe), torch.autocast("cuda", dtype=torch.bfloat16):
            cost = criterion(net(x), y)
        cost.backward()
        opt.step()
        net.eval()
        with te.fp8_autocast(enabled=True, fp8_recipe=recipe):
            print(net(held_out).argmax(1))  # expect: AMP813 likely
        net.train()


class Trainer:
    def __init__(self, net):
        self.net = net

    def validate(self, loader):
        self.net.train(False)
        for x in loader:
            with te.autocast():
                yield self.net(x).detach()  # expect: AMP813 likely
