"""Autograd is off, the recipe keeps no history, the model trains, or it is trained in evaluation mode."""

import torch
import transformer_engine.pytorch as te
from transformer_engine.common.recipe import Float8CurrentScaling, MXFP8BlockScaling


@torch.inference_mode()
def validate(net, loader):
    net.eval()
    for x in loader:
        with te.autocast():
            yield net(x)


def inside(net, x):
    net.eval()
    with torch.no_grad(), te.fp8_autocast(enabled=True):
        return net(x)


def no_history(net, x):
    net.eval()
    with te.autocast(recipe=Float8CurrentScaling()):
        out = net(x)
    with te.fp8_autocast(enabled=True, fp8_recipe=MXFP8BlockScaling()):
        return out + net(x)


def frozen_norms(net, criterion, opt, loader):
    net.eval()
    for x, y in loader:
        opt.zero_grad()
        with te.fp8_autocast(enabled=True):
            cost = criterion(net(x), y)
        cost.backward()
        opt.step()


def trains_again(net, x):
    net.eval()
    net.train()
    with te.fp8_autocast(enabled=True):
        return net(x)


def called_without_gradients(net, x):
    with torch.no_grad():
        return of_it(net, x)


def of_it(net, x):
    net.eval()
    with te.fp8_autocast(enabled=True):
        return net(x)


def outside(net, x):
    net.eval()
    with te.fp8_autocast(enabled=False):
        return net(x)
