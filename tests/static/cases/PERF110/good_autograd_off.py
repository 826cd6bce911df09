"""Nothing kept has a graph: autograd is off by another name, above the region, or in a caller; or it is a number."""

import contextlib
import torch
from torch import nn

quiet = torch.no_grad()


def v1(net, crit, loader):
    acc = 0.0
    for x, y in loader:
        with quiet, torch.autocast("cuda", dtype=torch.float16):
            loss = crit(net(x), y)
        acc += loss
    return acc


def v2(net, crit, loader):
    acc = []
    for x, y in loader:
        with contextlib.ExitStack() as stack:
            stack.enter_context(torch.inference_mode())
            stack.enter_context(torch.autocast("cuda", dtype=torch.float16))
            loss = crit(net(x), y)
        acc.append({"loss": loss})
    return acc


def v3(net, crit, loader):
    acc = 0.0
    for x, y in loader:
        with torch.no_grad():
            out = net(x)
        loss = crit(out, y)
        acc += loss
    return acc


def outer(net, crit, loader):
    with torch.no_grad():
        return mid(net, crit, loader)


def mid(net, crit, loader):
    return inner(net, crit, loader)


def inner(net, crit, loader):
    acc = 0.0
    for x, y in loader:
        loss = crit(net(x), y)
        acc += loss
    return acc


def unrolled(net, x, steps):
    total = 0.0
    for _ in range(steps):
        x = net(x)
        total = total + nn.functional.mse_loss(net(x), x)
    return total


def tr(net, opt, scaler, loader, w):
    s = 0.0
    seen = 0
    for i, (x, y) in enumerate(loader):
        with torch.autocast("cuda", dtype=torch.float16):
            loss = unrolled(net, x, 3)
        k = len(x)
        scaler.scale(loss * w / k).backward()
        s += loss.item() * w
        seen += k
        scaler.step(opt)
        scaler.update()
        opt.zero_grad()
    return s / seen


def st(net, opt, scaler, x):
    loss = net(x).mean()
    scaler.scale(loss).backward()
    scaler.step(opt)
    scaler.update()
    return loss.detach(), loss.item()


def tr2(net, opt, scaler, loader):
    a, b = [], 0
    for x in loader:
        l, v = st(net, opt, scaler, x)
        a.append(l)
        b += v
    return a, b
