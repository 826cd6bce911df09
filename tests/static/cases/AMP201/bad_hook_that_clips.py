"""A hook that clips each gradient in the midst of a scaled backward."""

import torch


def scale_once(model, batch):
    scaler = torch.amp.GradScaler("cuda")
    return scaler.scale(model(batch).mean())


def register(model, optimizer):
    def step_at_once(parameter):
        torch.nn.utils.clip_grad_norm_(parameter, 1.0)
        optimizer.step_param(parameter)
        parameter.grad = None

    for parameter in model.parameters():
        parameter.register_post_accumulate_grad_hook(step_at_once)  # expect: AMP201 likely
