"""The scaler is in an object that is called with the loss, as `opt(loss)`: it is off, the trainer's region is on."""

import torch


class Optimizer:
    def __init__(self, parameters):
        self._inner = torch.optim.Adam(parameters)
        self._scaler = torch.amp.GradScaler("cuda", enabled=False)

    def __call__(self, loss):
        self._inner.zero_grad()
        self._scaler.scale(loss).backward()
        self._scaler.step(self._inner)
        self._scaler.update()


class Trainer:
    def __init__(self, model, use_amp):
        self._model, self._use_amp = model, use_amp
        self._model_opt = Optimizer(model.parameters())  # expect: AMP303 likely

    def train(self, inputs, targets):
        with torch.autocast("cuda", dtype=torch.float16, enabled=self._use_amp):
            loss = torch.nn.functional.mse_loss(self._model(inputs), targets)
        self._model_opt(loss)
