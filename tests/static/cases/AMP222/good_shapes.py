"""Fused optimizers, steps behind the replay, a scaler that is off, a graph that is no CUDA graph."""

import torch
from mylibrary import graph


def fused(net, x):
    opt = torch.optim.AdamW(net.parameters(), fused=True)
    gs = torch.amp.GradScaler("cuda")
    recorded = torch.cuda.CUDAGraph()
    with torch.cuda.graph(recorded):
        with torch.autocast("cuda", dtype=torch.float16):
            cost = net(x).sum()
        gs.scale(cost).backward()
        gs.step(opt)
        gs.update()
    return recorded


def behind(net, loader):
    opt = torch.optim.AdamW(net.parameters())
    gs = torch.amp.GradScaler("cuda")
    recorded = torch.cuda.CUDAGraph()
    x = next(loader)
    with torch.cuda.graph(recorded):
        with torch.autocast("cuda", dtype=torch.float16):
            cost = net(x).sum()
        gs.scale(cost).backward()
    for batch in loader:
        x.copy_(batch)
        recorded.replay()
        gs.step(opt)
        gs.update()


def off(net, x):
    opt = torch.optim.AdamW(net.parameters(), capturable=True)
    gs = torch.amp.GradScaler("cuda", enabled=False)
    recorded = torch.cuda.CUDAGraph()
    with torch.cuda.graph(recorded):
        gs.scale(net(x).sum()).backward()
        gs.step(opt)
        gs.update()
    return recorded


def another(net, x):
    opt = torch.optim.AdamW(net.parameters())
    gs = torch.amp.GradScaler("cuda")
    with graph("forward"):
        with torch.autocast("cuda", dtype=torch.float16):
            cost = net(x).sum()
        gs.scale(cost).backward()
        gs.step(opt)
        gs.update()
