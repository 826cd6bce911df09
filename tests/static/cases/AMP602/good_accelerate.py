import torch
from accelerate import Accelerator


def bfloat16(net, data):
    accelerator = Accelerator(mixed_precision="bf16")
    opt = torch.optim.AdamW(net.parameters())
    net = accelerator.prepare(net)
    for batch in data:
        accelerator.backward(net(**batch).loss)
        opt.step()


def prepared_later(net, data):
    accelerator = Accelerator(mixed_precision="fp16")
    opt = torch.optim.AdamW(net.parameters())
    net = accelerator.prepare(net)
    opt = accelerator.prepare(opt)
    for batch in data:
        accelerator.backward(net(**batch).loss)
        opt.step()


def another_network(net, probe, data):
    accelerator = Accelerator(mixed_precision="fp16")
    own = torch.optim.SGD(probe.parameters(), lr=0.1)
    net, opt = accelerator.prepare(net, torch.optim.AdamW(net.parameters()))
    for batch in data:
        accelerator.backward(net(**batch).loss)
        opt.step()
        probe(**batch).loss.backward()
        own.step()


def unscaled(net, data):
    accelerator = Accelerator(mixed_precision="fp16")
    net, opt = accelerator.prepare(net, torch.optim.AdamW(net.parameters()))
    for batch in data:
        accelerator.backward(net(**batch).loss)
        accelerator.unscale_gradients()
        opt.optimizer.step()


class Runner:
    def __init__(self, net):
        self.accelerator = Accelerator(mixed_precision="fp16")
        self.opt = torch.optim.SGD(net.parameters(), lr=0.1)
        self.net, self.opt = self.accelerator.prepare(net, self.opt)

    def step(self, batch):
        self.accelerator.backward(self.net(**batch).loss)
        self.opt.step()
