"""Backwards outside every region that casts."""

from contextlib import nullcontext

import torch


def after_the_region(model, loss_fn, scaler, inputs, targets):
    with torch.autocast("cuda", dtype=torch.float16):
        loss = loss_fn(model(inputs), targets)
    scaler.scale(loss).backward()


def in_an_inner_region_that_is_off(model, inputs):
    with torch.autocast("cuda"):
        loss = model(inputs).sum()
        with torch.autocast("cuda", enabled=False):
            loss.backward()


def under_a_context_of_another_kind(model, inputs):
    with nullcontext(), torch.autograd.set_detect_anomaly(True):
        model(inputs).sum().backward()


def under_the_stand_in_of_the_slow_path(model, inputs):
    with nullcontext():
        model(inputs).sum().backward()


def an_operator_of_that_name(table, row):
    with torch.autocast("cuda"):
        table.move(row).forward()


def no_region_at_all(model, inputs):
    region = torch.autocast("cuda")
    print(region)
    model(inputs).sum().backward()


@torch.autocast("cuda")
def forward_only(model, inputs):
    return model(inputs).sum()


def caller_of_the_decorated(model, inputs):
    forward_only(model, inputs).backward()


class Trainer:
    def __init__(self, model):
        self.model = model

    def forward(self, batch):
        with torch.autocast("cuda"):
            return self.model(batch)

    def train_step(self, batch):
        loss = self.forward(batch)
        loss.backward()
