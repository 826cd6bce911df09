"""A clip after a backward in which hooks have stepped already."""

import torch


def train(model, loader):
    optimizers = {p: torch.optim.AdamW([p], lr=1e-3) for p in model.parameters()}

    def step_at_once(parameter):
        optimizers[parameter].step()
        optimizers[parameter].zero_grad()

    for parameter in model.parameters():
        parameter.register_post_accumulate_grad_hook(step_at_once)
    for inputs, targets in loader:
        with torch.autocast("cuda", dtype=torch.bfloat16):
            loss = torch.nn.functional.mse_loss(model(inputs), targets)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)  # expect: AMP211


def train_layer_by_layer(model, loader, by_layer, limit):
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    if by_layer:
        optimizers = {p: torch.optim.AdamW([p], lr=1e-3) for p in model.parameters()}
        for parameter in model.parameters():
            parameter.register_post_accumulate_grad_hook(lambda each: optimizers[each].step())
    for inputs, targets in loader:
        torch.nn.functional.mse_loss(model(inputs), targets).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), limit)  # expect: AMP211 likely
        if not by_layer:
            optimizer.step()
            optimizer.zero_grad()
