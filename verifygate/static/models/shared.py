"""What the models of frameworks have in common."""

import contextlib

import torch
from torch.utils._pytree import tree_map

MODELS = ("verifygate.shared",)

IN_PLACE = ("auto", "ddp", "ddp_spawn", "ddp_notebook", "ddp_find_unused_parameters_true", "dp", "single_device")
"""Strategies of Lightning that step the very weights of the model."""


def nothing(*args, **kwargs):
    pass


def same(self, value=None, *args, **kwargs):
    return value


@contextlib.contextmanager
def inside(self, *args, **kwargs):
    yield


class Moved:
    """Moves a tensor to a device, and leaves anything else as it is."""

    def __init__(self, device):
        self.device = device

    def __call__(self, value):
        return value.to(self.device) if isinstance(value, torch.Tensor) else value


class Cast:
    """Casts a floating-point tensor, and leaves anything else as it is."""

    def __init__(self, dtype):
        self.dtype = dtype

    def __call__(self, value):
        return value.to(self.dtype) if isinstance(value, torch.Tensor) and value.is_floating_point() else value


class Loader:
    """A loader whose batches are moved to the device."""

    def __init__(self, loader, device):
        self.loader, self.device = loader, device

    def __iter__(self):
        for batch in self.loader:
            yield tree_map(Moved(self.device), batch)

    def __len__(self):
        return len(self.loader)

    @property
    def dataset(self):
        return self.loader.dataset


class Optimizer(torch.optim.Optimizer):
    """An optimizer around another one."""

    def __init__(self, optimizer):
        self.optimizer = optimizer

    @property
    def param_groups(self):
        return self.optimizer.param_groups

    @property
    def state(self):
        return self.optimizer.state

    def zero_grad(self, set_to_none=True):
        self.optimizer.zero_grad(set_to_none=set_to_none)

    def state_dict(self):
        return self.optimizer.state_dict()

    def load_state_dict(self, state_dict):
        self.optimizer.load_state_dict(state_dict)

    def add_param_group(self, group):
        self.optimizer.add_param_group(group)


def backward(scaler, loss):
    if scaler is not None:
        scaler.scale(loss).backward()
    else:
        loss.backward()


def step(scaler, optimizer, closure=None):
    if scaler is not None:
        scaler.step(optimizer, closure)
        scaler.update()
    else:
        optimizer.step(closure)
