"""A penalty on gradients of scaled outputs that are divided by the scale is not scaled."""

import torch
from torch.amp import GradScaler


def penalty_of(outputs, inputs, scaler):
    grads = torch.autograd.grad(scaler.scale(outputs.sum()), inputs, create_graph=True)[0]
    grads = grads / scaler.get_scale()
    return grads.square().mean()


def train(generator, critic, batches):
    scaler = GradScaler("cuda")
    optimizer = torch.optim.Adam(generator.parameters())
    critic_optimizer = torch.optim.Adam(critic.parameters())
    for inputs in batches:
        critic_optimizer.zero_grad()
        inputs.requires_grad_()
        outputs = critic(inputs)
        loss = outputs.mean() + penalty_of(outputs, inputs, scaler)
        loss.backward()
        critic_optimizer.step()
        optimizer.zero_grad()
        with torch.autocast("cuda"):
            loss = -critic(generator(inputs)).mean()
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()


def train_by_the_inverse(generator, critic, batches):
    scaler = GradScaler("cuda")
    optimizer = torch.optim.Adam(generator.parameters())
    critic_optimizer = torch.optim.Adam(critic.parameters())
    for inputs in batches:
        critic_optimizer.zero_grad()
        inputs.requires_grad_()
        scaled_grads = torch.autograd.grad(scaler.scale(critic(inputs).sum()), inputs, create_graph=True)
        inverse = 1.0 / scaler.get_scale()
        grads = [grad * inverse for grad in scaled_grads]
        critic_loss = sum(grad.norm() for grad in grads)
        critic_loss.backward()
        critic_optimizer.step()
        optimizer.zero_grad()
        with torch.autocast("cuda"):
            loss = -critic(generator(inputs)).mean()
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
