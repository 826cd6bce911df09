"""A setting chooses how gradients are clipped, if at all: either way they are scaled still."""

from functools import partial

import torch
from torch import nn


def build_clipper(config):
    clipper = None
    if config["value"] is not None:
        clipper = partial(nn.utils.clip_grad_value_, clip_value=config["value"])
    elif config["norm"] is not None:
        clipper = partial(nn.utils.clip_grad_norm_, max_norm=config["norm"])
    return clipper


class Trainer:
    def __init__(self, model, config):
        self.model = model
        self.clip = build_clipper(config)
        self.optimizer = torch.optim.Adam(model.parameters())
        self.scaler = torch.amp.GradScaler("cuda")

    def step(self, loss):
        self.optimizer.zero_grad(set_to_none=True)
        self.scaler.scale(loss).backward()
        if self.clip is not None:
            self.clip(self.model.parameters())  # expect: AMP201
        self.scaler.step(self.optimizer)
        self.scaler.update()
