"""The cache is off, no region is around, it is for the CPU or switched off, or the function is Transformer Engine's."""

import torch
import transformer_engine.pytorch as te


def without_cache(net, x):
    with torch.autocast("cuda", cache_enabled=False):
        return torch.cuda.make_graphed_callables(net, (x,))


def positional(net, x):
    with torch.autocast("cuda", torch.float16, True, False):
        return torch.cuda.make_graphed_callables(net, (x,))


def outside(net, x):
    net = torch.cuda.make_graphed_callables(net, (x,))
    with torch.autocast("cuda", dtype=torch.bfloat16, cache_enabled=False):
        return net(x)


def others(net, x):
    with torch.autocast("cpu", dtype=torch.bfloat16):
        net = torch.cuda.make_graphed_callables(net, (x,))
    with torch.autocast("cuda", enabled=False):
        return torch.cuda.make_graphed_callables(net, (x,))


def of_the_engine(net, x):
    with torch.autocast("cuda", dtype=torch.bfloat16):
        return te.make_graphed_callables(net, (x,))
