import torch
from accelerate import Accelerator


def train(net, data):
    acc = Accelerator(mixed_precision="fp16")
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    net, opt, data = acc.prepare(net, opt, data)
    for batch in data:
        net(**batch).loss.backward()  # expect: AMP601
        opt.step()
        opt.zero_grad()


class Runner:
    def __init__(self, net, data):
        self.acc = Accelerator(mixed_precision="fp16")
        self.net, self.opt = self.acc.prepare(net, torch.optim.Adam(net.parameters()))
        self.data = data

    def run(self):
        for micro_batches in self.data:
            for x, y in micro_batches:
                error = (self.net(x) - y).square().mean()
                error.backward()  # expect: AMP601
            self.opt.step()
            self.opt.zero_grad()


def of_a_setting(net, data, args):
    acc = Accelerator(mixed_precision=args.mixed_precision)
    net, opt = acc.prepare(net, torch.optim.SGD(net.parameters(), lr=0.1))
    for batch in data:
        loss = net(**batch).loss
        loss.backward()  # expect: AMP601 likely
        opt.step()
        opt.zero_grad()
