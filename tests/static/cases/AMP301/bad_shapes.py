"""Scalers that a loop builds again."""

import torch
from torch.cuda.amp import GradScaler


def per_epoch(model, optimizer, batches, epochs):
    for _ in range(epochs):
        scaler = GradScaler()  # expect: AMP301
        for batch in batches:
            optimizer.zero_grad()
            scaler.scale(model(batch)).backward()
            scaler.step(optimizer)
            scaler.update()


def train_one_epoch(model, optimizer, batches, use_amp):
    scaler = torch.amp.GradScaler("cuda", enabled=use_amp)  # expect: AMP301
    for batch in batches:
        optimizer.zero_grad()
        scaler.scale(model(batch)).backward()
        scaler.step(optimizer)
        scaler.update()


def main(model, batches, args):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(args.epochs):
        train_one_epoch(model, optimizer, batches, args.amp)


class Trainer:
    def __init__(self, model):
        self.model = model
        self.optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    def fit(self, batches):
        scaler = GradScaler()  # expect: AMP301
        for batch in batches:
            self.optimizer.zero_grad()
            scaler.scale(self.model(batch)).backward()
            scaler.step(self.optimizer)
            scaler.update()

    def train(self, batches, epochs):
        for _ in range(epochs):
            self.fit(batches)


def stage(model, optimizer, batches, epochs):
    scaler = GradScaler()  # expect: AMP301 likely
    for _ in range(epochs):
        for batch in batches:
            optimizer.zero_grad()
            scaler.scale(model(batch)).backward()
            scaler.step(optimizer)
            scaler.update()


def in_stages(model, batches, stages):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for epochs in stages:
        stage(model, optimizer, batches, epochs)
