import torch
from accelerate import Accelerator


def by_the_number(net, data):
    acc = Accelerator(gradient_accumulation_steps=4)
    net, opt = acc.prepare(net, torch.optim.SGD(net.parameters(), lr=0.1))
    for batch in data:
        with acc.accumulate(net):
            acc.backward(net(**batch).loss / 4)  # expect: AMP606
            opt.step()


def in_place(net, data, args):
    acc = Accelerator(gradient_accumulation_steps=args.every)
    net, opt = acc.prepare(net, torch.optim.SGD(net.parameters(), lr=0.1))
    for batch in data:
        with acc.accumulate(net):
            loss = net(**batch).loss
            loss /= args.every  # expect: AMP606 likely
            acc.backward(loss)
            opt.step()


class Runner:
    def __init__(self, net, args):
        self.acc = Accelerator(gradient_accumulation_steps=args.every)
        self.net = self.acc.prepare(net)

    def step(self, batch):
        error = self.net(**batch).loss
        error = error / self.acc.gradient_accumulation_steps  # expect: AMP606
        self.acc.backward(error)


class WithLosses:
    def __init__(self, net, grad_accum):
        self.grad_accum = grad_accum
        self.acc = Accelerator(gradient_accumulation_steps=grad_accum)
        self.net = self.acc.prepare(net)

    def step(self, batch):
        losses = self.net(**batch)
        losses["loss"] = losses["loss"] / float(self.grad_accum)  # expect: AMP606 likely
        self.acc.backward(losses["loss"])
