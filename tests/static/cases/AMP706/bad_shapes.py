"""Switches of TF32 that contradict each other."""

import torch
from torch import set_float32_matmul_precision
from torch.backends import cuda, cudnn


def undone():
    torch.set_float32_matmul_precision("high")
    torch.backends.cudnn.benchmark = True
    torch.backends.cuda.matmul.allow_tf32 = False  # expect: AMP706


def overruled(model, batch):
    cuda.matmul.allow_tf32 = False
    set_float32_matmul_precision("medium")  # expect: AMP706
    return model(batch)


def old_and_new():
    torch.backends.cuda.matmul.allow_tf32 = True
    torch.backends.cuda.matmul.fp32_precision = "ieee"  # expect: AMP706


def without_effect():
    torch.backends.cuda.matmul.allow_tf32 = False
    torch.backends.fp32_precision = "tf32"  # expect: AMP706


def convolutions():
    cudnn.allow_tf32 = True
    cudnn.conv.fp32_precision = "ieee"  # expect: AMP706


def with_work_between(model, batch):
    torch.set_float32_matmul_precision("high")
    fast = model(batch)
    torch.backends.cuda.matmul.allow_tf32 = False  # expect: AMP706 likely
    return fast, model(batch)


def by_a_setting(strict):
    torch.set_float32_matmul_precision("high")
    if strict:
        torch.backends.cuda.matmul.allow_tf32 = False  # expect: AMP706 likely
