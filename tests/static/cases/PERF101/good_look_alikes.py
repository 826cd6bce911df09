"""Reads that do not run in every step, do not read the device, or are evaluation's."""

import numpy as np
import torch


def every_fiftieth(model, criterion, optimizer, loader):
    for step, (images, labels) in enumerate(loader):
        optimizer.zero_grad()
        loss = criterion(model(images).float(), labels)
        loss.backward()
        optimizer.step()
        if step % 50 == 0:
            print(step, loss.item())


def named_condition(model, criterion, optimizer, loader, period):
    for step, (images, labels) in enumerate(loader):
        due = (step + 1) % period == 0
        optimizer.zero_grad()
        loss = criterion(model(images), labels)
        loss.backward()
        optimizer.step()
        if due:
            print(float(loss))


def asked_by_a_method(model, criterion, optimizer, loader, logger):
    for step, (images, labels) in enumerate(loader):
        optimizer.zero_grad()
        loss = criterion(model(images), labels)
        loss.backward()
        optimizer.step()
        if logger.should_log(step):
            logger.log({"loss": loss.item()})


def asked_of_a_flag(model, criterion, optimizer, loader, control, totals):
    for images, labels in loader:
        optimizer.zero_grad()
        loss = criterion(model(images), labels)
        loss.backward()
        optimizer.step()
        if control.should_save:
            totals.append(loss.item())


def leaves_on_nan(model, criterion, optimizer, loader):
    for images, labels in loader:
        optimizer.zero_grad()
        loss = criterion(model(images), labels)
        if not torch.isfinite(loss):
            print(loss.item())
            raise FloatingPointError("loss is not finite")
        loss.backward()
        optimizer.step()


def once_an_epoch(model, criterion, optimizer, loader, epochs):
    for _ in range(epochs):
        total = torch.zeros(())
        for images, labels in loader:
            optimizer.zero_grad()
            loss = criterion(model(images), labels)
            loss.backward()
            optimizer.step()
            total += loss.detach()
        print(total.item() / len(loader))


def skips_most(model, criterion, optimizer, loader):
    for step, (images, labels) in enumerate(loader):
        optimizer.zero_grad()
        loss = criterion(model(images), labels)
        loss.backward()
        optimizer.step()
        if step % 10 != 0:
            continue
        print(loss.item())


@torch.no_grad()
def evaluation(model, criterion, loader):
    total = 0.0
    for images, labels in loader:
        with torch.autocast("cuda"):
            total += criterion(model(images), labels).item()
    return total


def host_numbers(model, criterion, optimizer, loader):
    for images, labels in loader:
        chance = np.random.rand(1).mean()
        weight = float(chance)
        optimizer.zero_grad()
        loss = criterion(model(images), labels) * weight
        loss.backward()
        optimizer.step()
        print("a step", weight)


def of_what_is_nan(model, criterion, optimizer, loader):
    for images, labels in loader:
        optimizer.zero_grad()
        loss = criterion(model(images), labels)
        if torch.isnan(loss):
            print(loss.item())
            continue
        loss.backward()
        optimizer.step()


def text_about_its_shape(model, criterion, optimizer, loader, bar):
    for number, (images, labels) in enumerate(loader):
        optimizer.zero_grad()
        loss = criterion(model(images), labels)
        loss.backward()
        optimizer.step()
        bar.set_description(f"{number} {loss.shape} {loss.dtype}")


class SetsOfGradients:
    """`self` stands before the scaler and before a number: neither is what is differentiated."""

    def __init__(self, model, loss_fn, optimizer, scaler, parts):
        self.model, self.loss_fn, self.optimizer, self.scaler, self.parts = model, loss_fn, optimizer, scaler, parts

    def run(self, loader):
        for batch in loader:
            self.turn(batch)

    def turn(self, batch):
        self.optimizer.zero_grad()
        loss = self.loss_fn(self.model(batch)) / float(self.parts)
        self.scaler.scale(loss).backward()
        self.scaler.step(self.optimizer)
        self.scaler.update()
