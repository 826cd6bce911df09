"""What the wrapper gives out is saved; what it is given back it drops."""

import torch


class LossScaler:
    def __init__(self):
        self._scaler = torch.amp.GradScaler("cuda")

    def __call__(self, loss, optimizer):
        self._scaler.scale(loss).backward()
        self._scaler.step(optimizer)
        self._scaler.update()

    def state_dict(self):
        return self._scaler.state_dict()

    def load_state_dict(self, state_dict):  # expect: AMP302 likely
        pass


def save(path, model, optimizer, loss_scaler):
    state = {"model": model.state_dict(), "optimizer": optimizer.state_dict(), "scaler": loss_scaler.state_dict()}
    torch.save(state, path)


def resume(path, model, optimizer, loss_scaler):
    state = torch.load(path)
    model.load_state_dict(state["model"])
    optimizer.load_state_dict(state["optimizer"])
    loss_scaler.load_state_dict(state["scaler"])
