import lightning.pytorch as pl
import torch
from accelerate import Accelerator


def prepared(net, data):
    accelerator = Accelerator(mixed_precision="fp16")
    opt = torch.optim.AdamW(net.parameters())
    warmup = torch.optim.lr_scheduler.LinearLR(opt)
    net, opt, warmup = accelerator.prepare(net, opt, warmup)
    for batch in data:
        accelerator.backward(net(**batch).loss)
        opt.step()
        warmup.step()


def asks(net, data):
    accelerator = Accelerator(mixed_precision="fp16")
    opt = torch.optim.AdamW(net.parameters())
    warmup = torch.optim.lr_scheduler.LinearLR(opt)
    net, opt = accelerator.prepare(net, opt)
    for batch in data:
        accelerator.backward(net(**batch).loss)
        opt.step()
        if not accelerator.optimizer_step_was_skipped:
            warmup.step()


def each_epoch(net, data):
    accelerator = Accelerator(mixed_precision="fp16")
    opt = torch.optim.AdamW(net.parameters())
    warmup = torch.optim.lr_scheduler.StepLR(opt, 1)
    net, opt = accelerator.prepare(net, opt)
    for _ in range(9):
        for batch in data:
            accelerator.backward(net(**batch).loss)
            opt.step()
        warmup.step()


def bfloat16(net, data):
    accelerator = Accelerator(mixed_precision="bf16")
    opt = torch.optim.AdamW(net.parameters())
    warmup = torch.optim.lr_scheduler.LinearLR(opt)
    net, opt = accelerator.prepare(net, opt)
    for batch in data:
        accelerator.backward(net(**batch).loss)
        opt.step()
        warmup.step()


class Net(pl.LightningModule):
    def configure_optimizers(self):
        opt = torch.optim.AdamW(self.parameters())
        self.rate = torch.optim.lr_scheduler.CosineAnnealingLR(opt, 10)
        return opt

    def on_train_epoch_end(self):
        self.rate.step()


def main(data):
    pl.Trainer(precision="16-mixed").fit(Net(), data)
