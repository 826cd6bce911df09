"""Scalers of functions that train whole, and one that is shown at work once."""

import torch


def train_whole(model, batches):
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    scaler = torch.amp.GradScaler("cuda")
    for batch in batches:
        optimizer.zero_grad()
        scaler.scale(model(batch)).backward()
        scaler.step(optimizer)
        scaler.update()


class Trainer:
    def fit(self, model, optimizer, batches):
        scaler = torch.amp.GradScaler("cuda")
        for batch in batches:
            optimizer.zero_grad()
            scaler.scale(model(batch)).backward()
            scaler.step(optimizer)
            scaler.update()


def show_one_step(model, optimizer, batch):
    scaler = torch.amp.GradScaler("cuda")
    optimizer.zero_grad()
    scaler.scale(model(batch)).backward()
    scaler.step(optimizer)
    scaler.update()


show_one_step(*torch.load("everything.pt"))
