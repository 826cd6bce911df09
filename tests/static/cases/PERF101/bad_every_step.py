"""Reads on the host in every step: in the loop, in a helper, behind a constant switch."""

import torch
from torch.utils.data import DataLoader


def sums_the_loss(net, criterion, opt, scaler, loader):
    running = 0.0
    for images, labels in loader:
        opt.zero_grad()
        with torch.autocast("cuda"):
            objective = criterion(net(images), labels)
        running += objective.item()  # expect: PERF101
        scaler.scale(objective).backward()
        scaler.step(opt)
        scaler.update()
    return running


def collects_predictions(model, criterion, optimizer, data):
    loader = DataLoader(data, batch_size=8)
    seen = []
    for images, labels in loader:
        optimizer.zero_grad()
        scores = model(images)
        loss = criterion(scores, labels)
        loss.backward()
        optimizer.step()
        seen.extend(scores.argmax(1).cpu().numpy())  # expect: PERF101


def prints(model, criterion, optimizer, loader, chatty):
    for step, (images, labels) in enumerate(loader):
        optimizer.zero_grad()
        loss = criterion(model(images), labels)
        loss.backward()
        optimizer.step()
        if chatty:
            print(f"{step}: {loss}")  # expect: PERF101


def measured_norm(parameters):
    total = 0.0
    for p in parameters:
        total += p.grad.norm(2).item() ** 2  # expect: PERF101 likely
    return total**0.5


class Trainer:
    def __init__(self, model, optimizer, scaler):
        self.model, self.optimizer, self.scaler = model, optimizer, scaler

    def one_step(self, batch):
        self.optimizer.zero_grad()
        with torch.autocast("cuda"):
            loss = self.model(batch).mean()
        self.scaler.scale(loss).backward()
        self.scaler.unscale_(self.optimizer)
        norm = measured_norm(self.model.parameters())
        self.scaler.step(self.optimizer)
        self.scaler.update()
        return norm

    def fit(self, loader):
        for batch in loader:
            self.one_step(batch)


def by_the_type_of_the_loss(model, criterion, optimizer, scaler, loader):
    total = None
    for images, labels in loader:
        optimizer.zero_grad()
        with torch.autocast("cuda"):
            losses = criterion(model(images), labels)
        if isinstance(losses, tuple):
            loss = sum(losses)
        else:
            loss = losses
            total = losses.item() if total is None else total + losses.item()  # expect: PERF101
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
    return total


def through_data(model, objective, optimizer, scaler, loader):
    history = []
    for images, labels in loader:
        optimizer.zero_grad()
        with torch.autocast("cuda"):
            cost = objective(model(images), labels)
        history.append(cost.data.cpu().numpy())  # expect: PERF101
        scaler.scale(cost).backward()
        scaler.step(optimizer)
        scaler.update()
    return history


def each_part_of_the_loss(model, optimizer, loss_scaler, loader):
    epoch_results = {"total": 0.0, "boxes": 0.0}
    for images, labels in loader:
        with torch.autocast("cuda"):
            parts = model(images, labels)
        loss_scaler(parts["total"], optimizer, parameters=model.parameters())
        for name, value in parts.items():
            if name in epoch_results:
                epoch_results[name] += value.item()  # expect: PERF101 likely
    return epoch_results


def a_setting_named_like_a_variable(model, optimizer, loader, args, meter):
    for batch in loader:
        optimizer.zero_grad()
        loss, mask = model(batch.cuda())
        loss.backward()
        optimizer.step()
        if args.mask:
            meter.update(loss.item())  # expect: PERF101
        else:
            meter.update(mask.sum().item())


def without_what_is_nan(model, criterion, optimizer, loader, meter):
    for images, labels in loader:
        optimizer.zero_grad()
        loss = criterion(model(images), labels)
        loss.backward()
        optimizer.step()
        meter.update(loss=loss.item() if not torch.isnan(loss).any() else 0.0)  # expect: PERF101


def where_it_is_finite(model, criterion, optimizer, loader, meter):
    for images, labels in loader:
        optimizer.zero_grad()
        loss = criterion(model(images), labels)
        loss.backward()
        optimizer.step()
        if torch.isfinite(loss):
            meter.update(loss.item())  # expect: PERF101


def as_text(model, criterion, optimizer, loader, bar):
    for images, labels in loader:
        optimizer.zero_grad()
        loss = criterion(model(images), labels)
        loss.backward()
        optimizer.step()
        bar.set_description("%s" * 2 % ("train", f"loss {loss.detach():.4f}"))  # expect: PERF101


def the_one_of_every_turn_first(model, criterion, optimizer, loader, period, logs):
    for number, (images, labels) in enumerate(loader):
        closes = (number + 1) % period == 0
        parts = criterion(model(images), labels)
        sum(parts.values()).backward()
        if closes:
            norm = torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0).item()
            optimizer.step()
            optimizer.zero_grad()
        logs.append({name: part.item() for name, part in parts.items()})  # expect: PERF101 likely


def two_loops(model, criterion, optimizer, loader, mixed, scaler):
    for _epoch in range(10):
        if mixed:
            for images, labels in loader:
                optimizer.zero_grad()
                with torch.autocast("cuda"):
                    loss = criterion(model(images), labels)
                scaler.scale(loss).backward()
                scaler.step(optimizer)
                scaler.update()
                print(loss.item())  # expect: PERF101
        else:
            for images, labels in loader:
                optimizer.zero_grad()
                loss = criterion(model(images), labels)
                loss.backward()
                optimizer.step()
                print(loss.item())  # expect: PERF101
