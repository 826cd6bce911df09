"""Callables that are graphed in a region with the cache on: directly, in a function, with a device from elsewhere."""

import torch
from torch.cuda import make_graphed_callables


def parts(first, second, x):
    with torch.cuda.amp.autocast():
        return torch.cuda.make_graphed_callables((first, second), ((x,), (x,)))  # expect: AMP112 certain


class Graphed:
    def __init__(self, net, x, device):
        with torch.autocast(device, dtype=torch.bfloat16, cache_enabled=True):
            self.net = make_graphed_callables(net, (x,))  # expect: AMP112 likely


def capture(net, x):
    return make_graphed_callables(net, (x,))  # expect: AMP112 certain


def prepare(net, x):
    with torch.autocast(device_type="cuda"):
        return capture(net, x)
