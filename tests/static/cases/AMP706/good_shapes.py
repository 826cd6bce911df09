"""Switches that agree, that are about other operators, or that restore what was."""

import torch


def both_on():
    torch.set_float32_matmul_precision("high")
    torch.backends.cuda.matmul.allow_tf32 = True
    torch.backends.cudnn.allow_tf32 = True


def other_operators():
    torch.set_float32_matmul_precision("highest")
    torch.backends.cudnn.allow_tf32 = True


def new_alone():
    torch.backends.fp32_precision = "ieee"
    torch.backends.cuda.matmul.fp32_precision = "tf32"


def measured_twice(model, batch):
    torch.backends.cuda.matmul.allow_tf32 = False
    exact = model(batch)
    torch.backends.cuda.matmul.allow_tf32 = True
    return exact - model(batch)


def restored(model, batch):
    before = torch.backends.cuda.matmul.allow_tf32
    torch.set_float32_matmul_precision("high")
    try:
        return model(batch)
    finally:
        torch.backends.cuda.matmul.allow_tf32 = before


def one_or_the_other(fast):
    if fast:
        torch.set_float32_matmul_precision("high")
    else:
        torch.backends.cuda.matmul.allow_tf32 = False


def by_version(new):
    if new:
        torch.backends.cuda.matmul.fp32_precision = "tf32"
        torch.backends.cudnn.conv.fp32_precision = "tf32"
    else:
        torch.backends.cuda.matmul.allow_tf32 = True


def from_a_setting(precision):
    torch.set_float32_matmul_precision(precision)
    torch.backends.cuda.matmul.allow_tf32 = False


class Settings:
    """No switch of torch."""

    allow_tf32 = True


def of_another_object(settings):
    torch.set_float32_matmul_precision("high")
    settings.allow_tf32 = False
