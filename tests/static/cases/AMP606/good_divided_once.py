import lightning.pytorch as pl
import torch
from accelerate import Accelerator


def not_told(net, data):
    acc = Accelerator()
    net, opt = acc.prepare(net, torch.optim.SGD(net.parameters(), lr=0.1))
    for number, batch in enumerate(data, 1):
        acc.backward(net(**batch).loss / 4)
        if number % 4 == 0:
            opt.step()
            opt.zero_grad()


def told_of_one(net, data, accumulation_steps):
    acc = Accelerator(gradient_accumulation_steps=1)
    net, opt = acc.prepare(net, torch.optim.SGD(net.parameters(), lr=0.1))
    for number, batch in enumerate(data, 1):
        acc.backward(net(**batch).loss / accumulation_steps)
        if number % accumulation_steps == 0:
            opt.step()
            opt.zero_grad()


def by_something_else(net, data, weight):
    acc = Accelerator(gradient_accumulation_steps=4)
    net, opt = acc.prepare(net, torch.optim.SGD(net.parameters(), lr=0.1))
    for batch in data:
        with acc.accumulate(net):
            loss = net(**batch).loss / weight
            loss = loss / batch["labels"].numel()
            acc.backward(loss)
            opt.step()


def only_what_is_logged(net, data):
    acc = Accelerator(gradient_accumulation_steps=4)
    net, opt = acc.prepare(net, torch.optim.SGD(net.parameters(), lr=0.1))
    total = 0.0
    for batch in data:
        with acc.accumulate(net):
            loss = net(**batch).loss
            total += loss.item() / acc.gradient_accumulation_steps
            acc.backward(loss)
            opt.step()
    return total


class Manual(pl.LightningModule):
    def __init__(self):
        super().__init__()
        self.automatic_optimization = False

    def training_step(self, batch, index):
        self.manual_backward(self(batch).mean() / 8)
        if index % 8 == 7:
            self.optimizers().step()


class Automatic(pl.LightningModule):
    def training_step(self, batch, index):
        return self(batch).sum() / len(batch)


def main(data):
    pl.Trainer(accumulate_grad_batches=8).fit(Automatic(), data)
    pl.Trainer().fit(Manual(), data)
