import lightning as L
import torch
from accelerate import Accelerator


class ByHand(L.LightningModule):
    def __init__(self, net):
        super().__init__()
        self.automatic_optimization = False
        self.net = net
        self.scaler = torch.amp.GradScaler("cuda", enabled=False)

    def training_step(self, batch, batch_idx):
        optimizer = self.optimizers()
        loss = self.net(batch).mean()
        self.manual_backward(self.scaler.scale(loss))
        optimizer.step()


class InFloat16(L.LightningModule):
    def __init__(self, net):
        super().__init__()
        self.automatic_optimization = False
        self.net = net
        self.scaler = torch.amp.GradScaler("cuda")

    def training_step(self, batch, batch_idx):
        optimizer = self.optimizers().optimizer
        with torch.autocast("cuda", torch.float16):
            loss = self.net(batch).mean()
        self.scaler.scale(loss).backward()
        self.scaler.step(optimizer)
        self.scaler.update()


def main(net, loader):
    L.Trainer(precision="bf16-mixed").fit(ByHand(net), loader)
    L.Trainer(precision="bf16-mixed").fit(InFloat16(net), loader)


def chosen(net, batches, half):
    accelerator = Accelerator(mixed_precision="bf16" if half else "fp16")
    net, optimizer = accelerator.prepare(net, torch.optim.AdamW(net.parameters()))
    for batch in batches:
        accelerator.backward(net(batch).mean())
        optimizer.step()


def without_framework(net, optimizer, batches):
    scaler = torch.amp.GradScaler()
    for batch in batches:
        with torch.autocast("cuda"):
            loss = net(batch).mean()
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
