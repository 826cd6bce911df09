"""What is scaled is not what the backward starts from."""

import torch


class Trainer:
    def __init__(self, model, optimizer):
        self.model, self.optimizer = model, optimizer
        self.scaler = torch.amp.GradScaler("cuda")

    def _back(self, loss):
        loss.backward()  # expect: AMP206

    def _loss(self, batch):
        return self.model(batch).mean()

    def given(self, loader):
        for batch in loader:
            self.optimizer.zero_grad()
            self._back(self.model(batch))
            self.scaler.step(self.optimizer)
            self.scaler.update()

    def returned(self, loader):
        for batch in loader:
            self.optimizer.zero_grad()
            self._loss(batch).backward()  # expect: AMP206
            self.scaler.step(self.optimizer)
            self.scaler.update()


def only_logged(model, optimizer, loader):
    scaler = torch.amp.GradScaler("cuda")
    for batch in loader:
        optimizer.zero_grad()
        parts = model(batch)
        history = [scaler.scale(part).item() for part in parts]
        for part in parts:
            part.backward()  # expect: AMP206
        scaler.step(optimizer)
        scaler.update()
        print(history)


def divided_by_the_scale(model, optimizer, loader):
    scaler = torch.amp.GradScaler("cuda")
    for batch in loader:
        optimizer.zero_grad()
        (model(batch) / scaler.get_scale()).backward()  # expect: AMP206
        scaler.step(optimizer)
        scaler.update()


def settings(model, optimizer, loader, config):
    with_two_switches(model, optimizer, loader, config.get("amp"), config.get("scale"))


def with_two_switches(model, optimizer, loader, amp, scale):
    scaler = torch.amp.GradScaler("cuda")
    for batch in loader:
        optimizer.zero_grad()
        loss = model(batch)
        if scale:
            loss = scaler.scale(loss)
        loss.backward()  # expect: AMP206 likely
        if amp:
            scaler.step(optimizer)
            scaler.update()
        else:
            optimizer.step()
