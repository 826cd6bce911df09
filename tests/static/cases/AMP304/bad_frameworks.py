import lightning as L
import torch
from accelerate import Accelerator
from lightning.fabric import Fabric
from transformers import Trainer, TrainingArguments


class ByHand(L.LightningModule):
    def __init__(self, net):
        super().__init__()
        self.automatic_optimization = False
        self.net = net
        self.scaler = torch.amp.GradScaler("cuda")  # expect: AMP304

    def training_step(self, batch, batch_idx):
        optimizer = self.optimizers().optimizer
        loss = self.net(batch).mean()
        self.scaler.scale(loss).backward()
        self.scaler.step(optimizer)
        self.scaler.update()


def main(net, loader):
    L.Trainer(precision="bf16-mixed").fit(ByHand(net), loader)


def prepared(net, batches):
    accelerator = Accelerator(mixed_precision="bf16")
    net, optimizer = accelerator.prepare(net, torch.optim.AdamW(net.parameters()))
    scaler = torch.amp.GradScaler()  # expect: AMP304
    for batch in batches:
        accelerator.backward(scaler.scale(net(batch).mean()))
        scaler.step(optimizer)
        scaler.update()


def set_up(net, batches):
    fabric = Fabric(precision="bf16-mixed")
    scaler = torch.cuda.amp.GradScaler()  # expect: AMP304
    net, optimizer = fabric.setup(net, torch.optim.AdamW(net.parameters()))
    for batch in batches:
        loss = scaler.scale(net(batch).mean())
        fabric.backward(loss)
        scaler.step(optimizer)
        scaler.update()


class Own(Trainer):
    def training_step(self, model, inputs, num_items_in_batch=None):
        self.scaler = torch.amp.GradScaler("cuda")  # expect: AMP304
        loss = self.compute_loss(model, inputs)
        self.scaler.scale(loss).backward()
        return loss.detach()


def train(net, data):
    Own(model=net, args=TrainingArguments("out", bf16=True), train_dataset=data).train()
