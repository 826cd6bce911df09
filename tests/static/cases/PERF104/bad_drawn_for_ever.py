"""Batches are drawn one by one from a generator that goes over the loader again and again."""

import torch
from torch.utils.data import DataLoader
from tqdm import tqdm


def cycle(loader):
    while True:
        for batch in loader:
            yield batch


def restarted(loader):
    batches = iter(loader)
    while True:
        try:
            yield next(batches)
        except StopIteration:
            batches = iter(loader)


class Trainer:
    def __init__(self, model, optimizer, dataset, accumulate):
        self.model, self.optimizer, self.accumulate = model, optimizer, accumulate
        self.batches = cycle(DataLoader(dataset, batch_size=8, shuffle=True))  # expect: PERF104

    def step(self):
        for _ in range(self.accumulate):
            images = next(self.batches)
            images = images.to("cuda")
            loss = self.model(images) / self.accumulate
            loss.backward()
        self.optimizer.step()
        self.optimizer.zero_grad()


def train(loader, model, optimizer, steps, quiet):
    loader = cycle(loader)
    bar = range(steps)
    if not quiet:
        bar = tqdm(bar)
    for step in bar:
        images = next(loader)
        images = images.to("cuda")
        optimizer.zero_grad()
        model(images).backward()
        optimizer.step()


def main(model, optimizer, dataset):
    train(DataLoader(dataset, batch_size=8), model, optimizer, 1000, False)  # expect: PERF104


def once_more(model, optimizer, dataset):
    batches = restarted(DataLoader(dataset, batch_size=8))  # expect: PERF104
    for step in range(1000):
        images = next(batches)
        images = images.cuda()
        optimizer.zero_grad()
        model(images).backward()
        optimizer.step()
