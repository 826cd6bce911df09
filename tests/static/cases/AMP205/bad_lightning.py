import lightning as L
import torch
from torch import nn


class ByHand(L.LightningModule):
    def __init__(self, critic):
        super().__init__()
        self.automatic_optimization = False
        self.critic = critic

    def training_step(self, batch, batch_idx):
        optimizer = self.optimizers()
        batch.requires_grad_(True)
        scores = self.critic(batch)
        (slope,) = torch.autograd.grad(scores.sum(), batch, create_graph=True)  # expect: AMP205
        optimizer.zero_grad()
        self.manual_backward(scores.mean() + (slope.norm(2, dim=1) - 1).square().mean())
        optimizer.step()


class InAMethod(L.LightningModule):
    def __init__(self, critic):
        super().__init__()
        self.critic = critic

    def penalty(self, real, fake):
        mixed = torch.lerp(real, fake, torch.rand(real.size(0), 1)).requires_grad_(True)
        scores = self.critic(mixed)
        grads = torch.autograd.grad(  # expect: AMP205
            outputs=scores, inputs=mixed, grad_outputs=torch.ones_like(scores), create_graph=True
        )[0]
        return (grads.norm(2, dim=1) - 1).square().mean()

    def training_step(self, batch, batch_idx):
        real, fake = batch
        return self.critic(fake).mean() - self.critic(real).mean() + 10 * self.penalty(real, fake)


def r1(scores, images):
    (grads,) = torch.autograd.grad(scores.sum(), images, create_graph=True)  # expect: AMP205
    return grads.flatten(1).square().sum(1).mean()


class ByAFunction(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.critic = nn.Linear(8, 1)

    def training_step(self, batch, batch_idx):
        images = batch.requires_grad_(True)
        scores = self.critic(images)
        return nn.functional.softplus(-scores).mean() + 5 * r1(scores, images)


def main(critic, loader):
    for module in (ByHand(critic), InAMethod(critic), ByAFunction()):
        L.Trainer(precision="16-mixed").fit(module, loader)
