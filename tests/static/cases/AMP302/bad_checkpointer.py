"""A checkpointer keeps the states of what it is given by name."""

import torch
from fvcore.common.checkpoint import Checkpointer
from ignite.handlers import Checkpoint, DiskSaver

from managers import CheckpointManager


class Engine:
    def __init__(self, model, optimizer, scheduler, folder):
        self.model, self.optimizer = model, optimizer
        self.scaler = torch.amp.GradScaler("cuda")
        self.checkpointer = Checkpointer(model, folder, optimizer=optimizer, scheduler=scheduler)  # expect: AMP302 likely

    def turn(self, batch):
        self.optimizer.zero_grad()
        with torch.autocast("cuda"):
            loss = self.model(batch)
        self.scaler.scale(loss).backward()
        self.scaler.step(self.optimizer)
        self.scaler.update()


def by_a_manager(model, batches):
    optimizer = torch.optim.Adam(model.parameters())
    scaler = torch.amp.GradScaler("cuda")
    manager = CheckpointManager("runs", model=model, optimizer=optimizer)  # expect: AMP302 likely
    for number, batch in enumerate(batches):
        optimizer.zero_grad()
        with torch.autocast("cuda"):
            loss = model(batch)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        manager.step(number)


def by_a_dict(model, batches):
    optimizer = torch.optim.Adam(model.parameters())
    scaler = torch.amp.GradScaler("cuda")
    to_save = {"model": model, "optimizer": optimizer}
    handler = Checkpoint(to_save, DiskSaver("runs"))  # expect: AMP302 likely
    for batch in batches:
        optimizer.zero_grad()
        with torch.autocast("cuda"):
            loss = model(batch)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
    handler()
