"""A generator over a loader with workers, and one that hands on something else than what it goes over."""

import torch
from torch.utils.data import DataLoader


def cycle(loader):
    while True:
        for batch in loader:
            yield batch


def names_of(loader):
    for batch in loader:
        yield str(len(batch))


class Trainer:
    def __init__(self, model, optimizer, dataset, accumulate):
        self.model, self.optimizer, self.accumulate = model, optimizer, accumulate
        self.batches = cycle(DataLoader(dataset, batch_size=8, shuffle=True, num_workers=4))

    def step(self):
        for _ in range(self.accumulate):
            images = next(self.batches)
            images = images.to("cuda")
            loss = self.model(images) / self.accumulate
            loss.backward()
        self.optimizer.step()
        self.optimizer.zero_grad()


def train(model, optimizer, dataset, loader):
    names = names_of(DataLoader(dataset, batch_size=8))
    for step in range(100):
        name = next(names)
        images = loader[name].to("cuda")
        optimizer.zero_grad()
        model(images).backward()
        optimizer.step()
