import lightning as L
import torch
from accelerate import Accelerator
from torch import nn
from torch.optim.swa_utils import AveragedModel


@torch.no_grad()
def follow(average, net, decay):
    for old, new in zip(average.parameters(), net.parameters(), strict=True):
        old.mul_(decay).add_(new, alpha=1 - decay)


def where_it_stepped(net, average, optimizer, batches):
    accelerator = Accelerator(mixed_precision="fp16", gradient_accumulation_steps=4)
    net, optimizer, batches = accelerator.prepare(net, optimizer, batches)
    for batch in batches:
        with accelerator.accumulate(net):
            accelerator.backward(net(batch).mean())
            optimizer.step()
            optimizer.zero_grad()
        if accelerator.sync_gradients:
            follow(average, net, 0.999)


def where_it_did_not(net, average, optimizer, batches):
    accelerator = Accelerator(mixed_precision="fp16", gradient_accumulation_steps=4)
    net, optimizer, batches = accelerator.prepare(net, optimizer, batches)
    for batch in batches:
        with accelerator.accumulate(net):
            accelerator.backward(net(batch).mean())
            optimizer.step()
            optimizer.zero_grad()
        if not accelerator.sync_gradients:
            continue
        follow(average, net, 0.999)


def one_at_a_time(net, average, optimizer, batches):
    accelerator = Accelerator(gradient_accumulation_steps=1)
    net, optimizer, batches = accelerator.prepare(net, optimizer, batches)
    for batch in batches:
        with accelerator.accumulate(net):
            accelerator.backward(net(batch).mean())
            optimizer.step()
            optimizer.zero_grad()
        follow(average, net, 0.999)


def each_epoch(net, average, optimizer, batches):
    accelerator = Accelerator(gradient_accumulation_steps=4)
    net, optimizer, batches = accelerator.prepare(net, optimizer, batches)
    for _ in range(10):
        for batch in batches:
            with accelerator.accumulate(net):
                accelerator.backward(net(batch).mean())
                optimizer.step()
                optimizer.zero_grad()
        follow(average, net, 0.9)


class Net(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = nn.Linear(8, 1)
        self.average = AveragedModel(self.net)
        self.last = 0

    def training_step(self, batch, batch_idx):
        return self.net(batch).mean()

    def on_train_batch_end(self, outputs, batch, batch_idx):
        if self.trainer.global_step != self.last:
            self.last = self.trainer.global_step
            self.average.update_parameters(self.net)


class OneByOne(Net):
    def on_train_batch_end(self, outputs, batch, batch_idx):
        self.average.update_parameters(self.net)


def main(loader):
    L.Trainer(precision="16-mixed", accumulate_grad_batches=4).fit(Net(), loader)
    L.Trainer(precision="16-mixed").fit(OneByOne(), loader)
