"""torch_xla 2.0 to 2.9: autocast and scalers of torch on an XLA device, and the step that reduces gradients first."""

import torch

MODELS = ("torch_xla",)


def autocast(device, enabled=True, dtype=None, cache_enabled=True):
    return torch.autocast("xla", dtype=torch.bfloat16 if dtype is None else dtype, enabled=enabled)


class GradScaler(torch.amp.GradScaler):
    def __init__(self, init_scale=65536.0, enabled=True, **options):
        super().__init__("xla", init_scale=init_scale, enabled=enabled)


def reduce_gradients(optimizer, groups=None, cctx=None, pin_layout=True):
    for group in optimizer.param_groups:
        for each in group["params"]:
            torch.distributed.all_reduce(each.grad)


def optimizer_step(optimizer, barrier=False, optimizer_args=None, groups=None, pin_layout=True):
    reduce_gradients(optimizer, groups)
    return optimizer.step(**(optimizer_args or {}))


class Adam(torch.optim.Adam):
    """Of `torch_xla.amp.syncfree`: it leaves a step out by itself where a gradient is infinite."""


class AdamW(torch.optim.AdamW):
    pass


class SGD(torch.optim.SGD):
    pass


def mark_step():
    pass


def save(data, file_or_path, master_only=True, global_master=False):
    torch.save(data, file_or_path)
