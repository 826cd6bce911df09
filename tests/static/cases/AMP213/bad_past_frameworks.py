import lightning.pytorch as pl
import torch
from accelerate import Accelerator
from lightning.fabric import Fabric


def not_prepared(net, data):
    accelerator = Accelerator(mixed_precision="fp16")
    opt = torch.optim.AdamW(net.parameters())
    warmup = torch.optim.lr_scheduler.LinearLR(opt)
    net, opt = accelerator.prepare(net, opt)
    for batch in data:
        accelerator.backward(net(**batch).loss)
        opt.step()
        warmup.step()  # expect: AMP213 likely
        opt.zero_grad()


class Runner:
    def __init__(self, net):
        self.fabric = Fabric(precision="16-mixed")
        opt = torch.optim.AdamW(net.parameters())
        self.rate = torch.optim.lr_scheduler.CosineAnnealingLR(opt, 10)
        self.net, self.opt = self.fabric.setup(net, opt)

    def step(self, batch):
        self.fabric.backward(self.net(batch).mean())
        self.opt.step()
        self.rate.step()  # expect: AMP213 likely


class Net(pl.LightningModule):
    def configure_optimizers(self):
        opt = torch.optim.AdamW(self.parameters())
        self.rate = torch.optim.lr_scheduler.CosineAnnealingLR(opt, 10)
        return opt

    def on_train_batch_end(self, outputs, batch, index):
        self.rate.step()  # expect: AMP213 likely


def main(data):
    pl.Trainer(precision="16-mixed").fit(Net(), data)
