"""The loss is scaled while AMP is on, and stepped without the scaler while it is off."""

import torch


def by_if(model, optimizer, loader, use_amp):
    scaler = torch.amp.GradScaler("cuda")
    for batch in loader:
        optimizer.zero_grad()
        loss = model(batch)
        if use_amp:
            loss = scaler.scale(loss)
        loss.backward()
        if use_amp:
            scaler.step(optimizer)
            scaler.update()
        else:
            optimizer.step()


def by_expression(model, optimizer, loader, use_amp):
    scaler = torch.amp.GradScaler("cuda") if use_amp else None
    for batch in loader:
        optimizer.zero_grad()
        loss = model(batch)
        scaled = loss if scaler is None else scaler.scale(loss)
        scaled.backward()
        if scaler is None:
            optimizer.step()
        else:
            scaler.step(optimizer)
            scaler.update()


def without_a_name(model, optimizer, loader, use_amp):
    scaler = torch.amp.GradScaler("cuda")
    for batch in loader:
        optimizer.zero_grad()
        loss = model(batch)
        (scaler.scale(loss) if use_amp else loss).backward()
        if use_amp:
            scaler.step(optimizer)
            scaler.update()
        else:
            optimizer.step()


class Trainer:
    def __init__(self, config, optimizer):
        self.scaler = torch.amp.GradScaler("cuda") if config.amp else None
        self.optimizer = optimizer

    def _scaled(self, loss):
        if self.scaler is not None:
            return self.scaler.scale(loss)
        return loss

    def _back(self, loss):
        loss.backward()

    def _step(self):
        if self.scaler is not None:
            self.scaler.step(self.optimizer)
            self.scaler.update()
        else:
            self.optimizer.step()

    def named(self, model, loader):
        for batch in loader:
            self.optimizer.zero_grad()
            loss = self._scaled(model(batch))
            loss.backward()
            self._step()

    def unnamed(self, model, loader):
        for batch in loader:
            self.optimizer.zero_grad()
            self._scaled(model(batch)).backward()
            self._step()

    def given(self, model, loader):
        for batch in loader:
            self.optimizer.zero_grad()
            self._back(self._scaled(model(batch)))
            self._step()

    def given_one_or_the_other(self, model, loader):
        for batch in loader:
            self.optimizer.zero_grad()
            loss = model(batch)
            self._back(loss if self.scaler is None else self.scaler.scale(loss))
            self._step()


def by_the_scaler(model, optimizer, loader, use_amp, device):
    scaler = torch.amp.GradScaler("cuda", enabled=use_amp and device.type == "cuda")
    for batch in loader:
        optimizer.zero_grad()
        loss = model(batch)
        scaled = scaler.scale(loss)
        scaled.backward()
        scaler.step(optimizer)
        scaler.update()
