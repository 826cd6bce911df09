import lightning as L
import torch
from accelerate import Accelerator
from lightning.fabric import Fabric
from transformers import Trainer, TrainingArguments


class Critic(L.LightningModule):
    def __init__(self, critic):
        super().__init__()
        self.critic = critic


class InFloat32(Critic):
    def training_step(self, batch, batch_idx):
        with torch.autocast("cuda", enabled=False):
            batch = batch.float().requires_grad_(True)
            scores = self.critic(batch)
            (slope,) = torch.autograd.grad(scores.sum(), batch, create_graph=True)
        return scores.mean() + slope.square().mean()


class Scaled(Critic):
    def training_step(self, batch, batch_idx):
        scaler = self.trainer.precision_plugin.scaler
        batch.requires_grad_(True)
        scores = self.critic(batch)
        (slope,) = torch.autograd.grad(scaler.scale(scores.sum()), batch, create_graph=True)
        slope = slope / scaler.get_scale()
        return scores.mean() + slope.square().mean()


class NoPenalty(Critic):
    def training_step(self, batch, batch_idx):
        scores = self.critic(batch)
        (slope,) = torch.autograd.grad(scores.sum(), batch, retain_graph=True)
        self.log("slope", slope.norm())
        return scores.mean()


class InBfloat16(Critic):
    def training_step(self, batch, batch_idx):
        batch.requires_grad_(True)
        scores = self.critic(batch)
        (slope,) = torch.autograd.grad(scores.sum(), batch, create_graph=True)
        return scores.mean() + slope.square().mean()


class OnlyEvaluates(Critic):
    def training_step(self, batch, batch_idx):
        return self.critic(batch).mean()

    @torch.autocast("cuda", enabled=False)
    def sharpness(self, batch):
        batch.requires_grad_(True)
        (slope,) = torch.autograd.grad(self.critic(batch).sum(), batch, create_graph=True)
        return slope.norm()


def main(critic, loader):
    for module in (InFloat32(critic), Scaled(critic), NoPenalty(critic), OnlyEvaluates(critic)):
        L.Trainer(precision="16-mixed").fit(module, loader)
    L.Trainer(precision="bf16-mixed").fit(InBfloat16(critic), loader)


def prepared(critic, optimizer, batches):
    accelerator = Accelerator(mixed_precision="bf16")
    critic, optimizer, batches = accelerator.prepare(critic, optimizer, batches)
    for real in batches:
        real.requires_grad_(True)
        scores = critic(real)
        (slope,) = torch.autograd.grad(scores.sum(), real, create_graph=True)
        accelerator.backward(scores.mean() + slope.square().sum())
        optimizer.step()


def of_another_model(net, energy, batches):
    fabric = Fabric(precision="16-mixed")
    net, optimizer = fabric.setup(net, torch.optim.Adam(net.parameters(), lr=1e-4))
    for places in batches:
        optimizer.zero_grad()
        places.requires_grad_(True)
        (target,) = torch.autograd.grad(energy(places).sum(), places, create_graph=True)
        fabric.backward((net(places) - target).square().mean())
        optimizer.step()


class Forces(Trainer):
    def compute_loss(self, model, inputs, return_outputs=False, **kwargs):
        places = inputs["places"].requires_grad_(True)
        (forces,) = torch.autograd.grad(model(places).sum(), places, create_graph=True)
        return (forces + inputs["forces"]).square().mean()


def train(model, data):
    Forces(model=model, args=TrainingArguments("out", bf16=True), train_dataset=data).train()
