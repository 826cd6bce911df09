"""What a function gives says what it is, where its own name does not; or its name has a digit before it."""

import torch


def derive(critic, real, fake):
    mixed = (real + fake).requires_grad_()
    (slopes,) = torch.autograd.grad(critic(mixed).sum(), mixed, create_graph=True)
    gradient_penalty = (slopes.norm(2, dim=1) - 1).square().mean()
    return gradient_penalty


def derive4gp(critic, real, fake):
    mixed = (real + fake).requires_grad_()
    (slopes,) = torch.autograd.grad(critic(mixed).sum(), mixed, create_graph=True)
    return (slopes.norm(2, dim=1) - 1).square().mean()


def train(critic, optimizer, scaler, batches):
    for real, fake in batches:
        optimizer.zero_grad()
        with torch.autocast("cuda", dtype=torch.float16):
            loss = critic(fake).mean() - critic(real).mean()
            loss += 10 * derive(critic, real, fake)  # expect: AMP205
            loss += 10 * derive4gp(critic, real, fake)  # expect: AMP205
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
