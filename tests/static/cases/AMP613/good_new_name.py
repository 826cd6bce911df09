import copy

import lightning as L
import torch
from accelerate import Accelerator


def by_what_came_back(net, data):
    fabric = L.Fabric(precision="16-mixed")
    net, opt = fabric.setup(net, torch.optim.SGD(net.parameters(), lr=0.1))
    for x in data:
        fabric.backward(net(x).mean())
        opt.step()


def with_a_teacher(net, data):
    fabric = L.Fabric(precision="16-mixed")
    teacher = copy.deepcopy(net)
    ready, opt = fabric.setup(net, torch.optim.SGD(net.parameters(), lr=0.1))
    for x in data:
        fabric.backward((ready(x) - teacher(x)).square().mean())
        opt.step()
        print(net(x).mean())


def float32(net, data):
    fabric = L.Fabric()
    ready, opt = fabric.setup(net, torch.optim.SGD(net.parameters(), lr=0.1))
    for x in data:
        fabric.backward(net(x).mean())
        opt.step()
    return ready


def in_place(net, data):
    accelerator = Accelerator(mixed_precision="fp16")
    ready, opt = accelerator.prepare(net, torch.optim.SGD(net.parameters(), lr=0.1))
    for x in data:
        accelerator.backward(net(x).mean())
        opt.step()
    return ready


def gives_back_its_name(net, data):
    fabric = L.Fabric(precision="16-mixed")
    ready, opt = fabric.setup(net, torch.optim.SGD(net.parameters(), lr=0.1))
    net = ready
    for x in data:
        fabric.backward(net(x).mean())
        opt.step()
