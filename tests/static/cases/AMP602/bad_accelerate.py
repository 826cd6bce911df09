import torch
from accelerate import Accelerator


def not_prepared(net, data):
    accelerator = Accelerator(mixed_precision="fp16")
    opt = torch.optim.AdamW(net.parameters())
    net = accelerator.prepare(net)
    for batch in data:
        accelerator.backward(net(**batch).loss)
        opt.step()  # expect: AMP602
        opt.zero_grad()


def result_is_dropped(net, data):
    accelerator = Accelerator(mixed_precision="fp16")
    opt = torch.optim.AdamW(net.parameters())
    net, prepared = accelerator.prepare(net, opt)
    for micro_batches in data:
        for batch in micro_batches:
            accelerator.backward(net(**batch).loss)
        opt.step()  # expect: AMP602
        prepared.zero_grad()


class Runner:
    def __init__(self, net, args):
        self.accelerator = Accelerator(mixed_precision=args.precision)
        self.opt = torch.optim.SGD(net.parameters(), lr=0.1)
        self.net = self.accelerator.prepare_model(net)

    def step(self, batch):
        self.accelerator.backward(self.net(**batch).loss)
        self.opt.step()  # expect: AMP602 likely


def inside(net, data):
    accelerator = Accelerator(mixed_precision="fp16")
    net, opt = accelerator.prepare(net, torch.optim.AdamW(net.parameters()))
    for batch in data:
        accelerator.backward(net(**batch).loss)
        opt.optimizer.step()  # expect: AMP602
