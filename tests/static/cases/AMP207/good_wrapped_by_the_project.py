"""An optimizer that comes back from the project's own `prepare` may be a wrapper, which steps with the scaler."""

import torch
from torch import nn, optim
from torch.amp import GradScaler, autocast



class WrappedOptimizer(optim.Optimizer):
    def __init__(self, optimizer, scaler=None):
        self._optimizer = optimizer
        self._scaler = scaler

    def step(self, closure=None):
        if self._scaler is not None:
            self._scaler.step(self._optimizer, closure)
        else:
            self._optimizer.step(closure)

    def zero_grad(self, set_to_none=True):
        self._optimizer.zero_grad(set_to_none=set_to_none)


class MiniAccelerator:
    def __init__(self, amp=True):
        self._scaler = GradScaler("cuda") if amp else None

    def update(self):
        if self._scaler is not None:
            self._scaler.update()

    def backward(self, loss):
        if self._scaler is not None:
            self._scaler.scale(loss).backward()
        else:
            loss.backward()

    def prepare(self, *args):
        prepared = []
        for arg in args:
            if isinstance(arg, nn.Module):
                prepared.append(arg.cuda())
            elif isinstance(arg, optim.Optimizer):
                prepared.append(self._prepare_optimizer(arg))
            else:
                prepared.append(arg)
        return tuple(prepared) if len(prepared) > 1 else prepared[0]

    def _prepare_optimizer(self, optimizer):
        if self._scaler is not None:
            optimizer = WrappedOptimizer(optimizer, self._scaler)
        return optimizer


def train(loader, model, optimizer, amp):
    accelerator = MiniAccelerator(amp)
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    for inputs, targets in loader:
        optimizer.zero_grad()
        with autocast("cuda", enabled=amp):
            loss = (model(inputs) - targets).square().mean()
        accelerator.backward(loss)
        optimizer.step()
        accelerator.update()


