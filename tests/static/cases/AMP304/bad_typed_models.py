"""The region is in a model that only an annotation of `nn.Module` stands for, and another function scales the loss."""

import torch
from torch import nn
from torch.nn.parallel import DistributedDataParallel


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(4, 4)

    def forward(self, inputs):
        with torch.autocast("cuda", dtype=torch.bfloat16):
            return self.layer(inputs)


class State:
    def __init__(self, model: nn.Module, optimizer: torch.optim.Optimizer):
        self._model = model
        self._optimizer = optimizer

    @property
    def model(self) -> nn.Module:
        return self._model

    @property
    def optimizer(self) -> torch.optim.Optimizer:
        return self._optimizer


def loss_of(state: State, batch: torch.Tensor):
    return state.model(batch).pow(2).mean()


def train(batches):
    model = DistributedDataParallel(Net().cuda())
    optimizer = torch.optim.Adam(model.parameters())
    scaler = torch.amp.GradScaler("cuda")  # expect: AMP304
    state = State(model=model, optimizer=optimizer)
    for batch in batches:
        scaler.scale(loss_of(state, batch)).backward()
        scaler.step(state.optimizer)
        scaler.update()
        state.optimizer.zero_grad()
