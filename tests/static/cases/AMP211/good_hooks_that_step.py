"""Clips in the hook before its step, where no hook is registered, and of what the hooks are not for."""

import torch


def train_and_clip_in_the_hook(model, loader):
    optimizers = {p: torch.optim.AdamW([p], lr=1e-3) for p in model.parameters()}

    def step_at_once(parameter):
        torch.nn.utils.clip_grad_norm_([parameter], 1.0)
        optimizers[parameter].step()
        optimizers[parameter].zero_grad()

    for parameter in model.parameters():
        parameter.register_post_accumulate_grad_hook(step_at_once)
    for inputs, targets in loader:
        torch.nn.functional.mse_loss(model(inputs), targets).backward()


def train_layer_by_layer(model, loader, by_layer, limit):
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    if by_layer:
        optimizers = {p: torch.optim.AdamW([p], lr=1e-3) for p in model.parameters()}
        for parameter in model.parameters():
            parameter.register_post_accumulate_grad_hook(lambda each: optimizers[each].step())
    for inputs, targets in loader:
        torch.nn.functional.mse_loss(model(inputs), targets).backward()
        if not by_layer:
            torch.nn.utils.clip_grad_norm_(model.parameters(), limit)
            optimizer.step()
            optimizer.zero_grad()


def train_a_pair(generator, critic, loader):
    optimizer = torch.optim.AdamW(critic.parameters(), lr=1e-3)
    optimizers = {p: torch.optim.AdamW([p], lr=1e-3) for p in generator.parameters()}
    for parameter in generator.parameters():
        parameter.register_post_accumulate_grad_hook(lambda each: optimizers[each].step())
    for inputs, targets in loader:
        torch.nn.functional.mse_loss(critic(generator(inputs)), targets).backward()
        torch.nn.utils.clip_grad_norm_(critic.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
