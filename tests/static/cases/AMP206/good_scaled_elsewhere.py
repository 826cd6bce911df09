"""The loss is scaled before it comes to the backward: by the caller, in a list, by a function, by another name."""

import torch


class Trainer:
    def __init__(self, model, optimizer):
        self.model, self.optimizer = model, optimizer
        self.scaler = torch.amp.GradScaler("cuda")

    def _back(self, loss):
        loss.backward()

    def _scale(self, loss):
        return loss if self.scaler is None else self.scaler.scale(loss)

    def given(self, loader):
        for batch in loader:
            self.optimizer.zero_grad()
            self._back(self.scaler.scale(self.model(batch)))
            self.scaler.step(self.optimizer)
            self.scaler.update()

    def returned(self, loader):
        for batch in loader:
            self.optimizer.zero_grad()
            self._scale(self.model(batch)).backward()
            self.scaler.step(self.optimizer)
            self.scaler.update()


def divided(loss, parts):
    loss = loss / parts
    loss.backward()


def through_two(total_loss, weight):
    divided(total_loss * weight, 2)


def handed_on(model, optimizer, loader, scaler_on):
    scaler = torch.amp.GradScaler("cuda", enabled=scaler_on)
    for batch in loader:
        optimizer.zero_grad()
        through_two(scaler.scale(model(batch)), weight=3)
        scaler.step(optimizer)
        scaler.update()


def named_first(model, optimizer, loader):
    scaler = torch.amp.GradScaler("cuda")
    for batch in loader:
        optimizer.zero_grad()
        scaled = scaler.scale(model(batch))
        divided(scaled, 4)
        scaler.step(optimizer)
        scaler.update()


def drawn_from_a_list(model, optimizer, loader):
    scaler = torch.amp.GradScaler("cuda")
    for batch in loader:
        optimizer.zero_grad()
        for each in [scaler.scale(part) for part in model(batch)]:
            each.backward(retain_graph=True)
        scaler.step(optimizer)
        scaler.update()


def put_into_a_list(model, optimizer, loader):
    scaler = torch.amp.GradScaler("cuda")
    for batch in loader:
        optimizer.zero_grad()
        parts = []
        for view in batch:
            parts.append(scaler.scale(model(view)))
        torch.stack(parts).sum().backward()
        scaler.step(optimizer)
        scaler.update()


def put_into_a_dict(model, optimizer, loader):
    scaler = torch.amp.GradScaler("cuda")
    for batch in loader:
        optimizer.zero_grad()
        parts = model(batch)
        parts["loss"] = scaler.scale(parts["loss"])
        parts["loss"].backward()
        scaler.step(optimizer)
        scaler.update()


def values_of_a_dict(model, optimizer, loader):
    scaler = torch.amp.GradScaler("cuda")
    for batch in loader:
        optimizer.zero_grad()
        parts = {name: scaler.scale(part) for name, part in model(batch).items()}
        total = sum(parts.values())
        total.mean().backward()
        scaler.step(optimizer)
        scaler.update()


def by_its_method(model, optimizer, loader):
    scaler = torch.amp.GradScaler("cuda")
    scale = scaler.scale
    for batch in loader:
        optimizer.zero_grad()
        loss = scale(model(batch))
        loss.backward()
        scaler.step(optimizer)
        scaler.update()


def by_hand(model, optimizer, loader):
    scaler = torch.amp.GradScaler("cuda")
    for batch in loader:
        optimizer.zero_grad()
        factor = scaler.get_scale()
        (model(batch) * factor).backward()
        scaler.step(optimizer)
        scaler.update()
