"""A clip by the size of the weights that assigns, instead of copying; a clip by a callback of several."""

import torch


def adaptive(parameters, factor):
    for weight in parameters:
        most = weight.detach().norm() * factor
        size = weight.grad.norm()
        weight.grad = torch.where(size > most, weight.grad * most / size, weight.grad)  # expect: AMP201


def train(model, optimizer, loss_fn, batches):
    scaler = torch.amp.GradScaler("cuda")
    for inputs, targets in batches:
        optimizer.zero_grad()
        with torch.autocast("cuda", dtype=torch.float16):
            loss = loss_fn(model(inputs), targets)
        scaler.scale(loss).backward()
        adaptive(model.parameters(), 0.01)
        scaler.step(optimizer)
        scaler.update()


def over_both(maker, critic, batches):
    """The clip is over two networks, and one of them is unscaled."""
    of_maker = torch.optim.Adam(maker.parameters())
    of_critic = torch.optim.Adam(critic.parameters())
    scaler = torch.amp.GradScaler("cuda")
    for left, right in batches:
        of_maker.zero_grad()
        of_critic.zero_grad()
        with torch.autocast("cuda", dtype=torch.float16):
            loss = maker(left).mean() + critic(right).mean()
        scaler.scale(loss).backward()
        scaler.unscale_(of_maker)
        both = [*maker.parameters(), *critic.parameters()]
        torch.nn.utils.clip_grad_norm_(both, 1.0)  # expect: AMP201
        scaler.step(of_maker)
        scaler.step(of_critic)
        scaler.update()
