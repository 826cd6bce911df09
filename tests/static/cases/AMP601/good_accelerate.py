import torch
from accelerate import Accelerator


def bfloat16(net, data):
    accelerator = Accelerator(mixed_precision="bf16")
    net, opt = accelerator.prepare(net, torch.optim.SGD(net.parameters(), lr=0.1))
    for batch in data:
        net(**batch).loss.backward()
        opt.step()


def two_networks(net, probe, data):
    accelerator = Accelerator(mixed_precision="fp16")
    net, opt = accelerator.prepare(net, torch.optim.SGD(net.parameters(), lr=0.1))
    own = torch.optim.SGD(probe.parameters(), lr=0.1)
    for batch in data:
        probe(**batch).loss.backward()
        own.step()
        accelerator.backward(net(**batch).loss)
        opt.step()


def scaled_by_hand(net, data):
    accelerator = Accelerator(mixed_precision="fp16")
    net, opt = accelerator.prepare(net, torch.optim.SGD(net.parameters(), lr=0.1))
    for batch in data:
        accelerator.scaler.scale(net(**batch).loss).backward()
        opt.step()


def nothing_is_prepared(net, data):
    accelerator = Accelerator(mixed_precision="fp16")
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    data = accelerator.prepare(data)
    for batch in data:
        net(**batch).loss.backward()
        opt.step()
