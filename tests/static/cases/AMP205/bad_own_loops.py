import torch
from accelerate import Accelerator
from lightning.fabric import Fabric
from torch import nn
from transformers import Trainer, TrainingArguments


def prepared(critic, optimizer, batches):
    accelerator = Accelerator(mixed_precision="fp16")
    critic, optimizer, batches = accelerator.prepare(critic, optimizer, batches)
    for real in batches:
        real.requires_grad_(True)
        scores = critic(real)
        (slope,) = torch.autograd.grad(scores.sum(), real, create_graph=True)  # expect: AMP205
        accelerator.backward(scores.mean() + slope.square().sum())
        optimizer.step()
        optimizer.zero_grad()


def gradient_penalty(critic, images):
    images.requires_grad_(True)
    scores = critic(images)
    return torch.autograd.grad(scores.sum(), images, create_graph=True)[0].square().mean()  # expect: AMP205 likely


def set_up(net, batches):
    fabric = Fabric(precision="16-mixed")
    net, optimizer = fabric.setup(net, torch.optim.Adam(net.parameters(), lr=1e-4))
    for images in fabric.setup_dataloaders(batches):
        optimizer.zero_grad()
        loss = net(images).mean() + gradient_penalty(net, images)
        fabric.backward(loss)
        optimizer.step()


class Energy(nn.Module):
    def forward(self, places):
        return places.square().sum(-1)


class Forces(Trainer):
    def compute_loss(self, model, inputs, return_outputs=False, **kwargs):
        places = inputs["places"].requires_grad_(True)
        energy = model(places)
        (forces,) = torch.autograd.grad(energy.sum(), places, create_graph=True)  # expect: AMP205
        return (forces + inputs["forces"]).square().mean()


def main(data):
    arguments = TrainingArguments("out", fp16=True)
    Forces(model=Energy(), args=arguments, train_dataset=data).train()
