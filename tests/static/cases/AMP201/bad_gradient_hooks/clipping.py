"""Clips each gradient as the backward makes it; names no scaler itself."""

import torch


def bounded(value, low, high):
    return torch.min(torch.max(value, low), high)


def clip_in_backward(model, limit):
    for parameter in model.parameters():
        if parameter.requires_grad:
            parameter.register_hook(lambda grad: grad.clamp(-limit, limit))  # expect: AMP201 likely


def clip_by_a_function(model, limit):
    def clipped(grad):
        return torch.clamp(grad, min=-limit, max=limit)

    for _, parameter in model.named_parameters():
        parameter.register_hook(clipped)  # expect: AMP201 likely


def clip_where_it_gathers(model):
    for parameter in model.parameters():
        parameter.register_post_accumulate_grad_hook(
            lambda each: torch.nn.utils.clip_grad_norm_([each], 1.0)  # expect: AMP201
        )


def keep_positive(model):
    for parameter in model.parameters():
        parameter.register_hook(lambda grad: grad.clamp(min=0))


def halve(features):
    features.register_hook(lambda grad: grad * 0.5)
