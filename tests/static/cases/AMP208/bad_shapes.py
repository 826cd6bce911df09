"""Two steps on the same gradients."""

import torch


def side_by_side(model, optimizer, scaler, batches):
    for batch in batches:
        optimizer.zero_grad()
        scaler.scale(model(batch)).backward()
        scaler.step(optimizer)
        optimizer.step()  # expect: AMP208
        scaler.update()


def after_the_update(model, optimizer, scaler, batches):
    for batch in batches:
        optimizer.zero_grad()
        scaler.scale(model(batch)).backward()
        scaler.step(optimizer)
        scaler.update()
        optimizer.step()  # expect: AMP208


class Trainer:
    def __init__(self, model):
        self.model = model
        self.optim = torch.optim.SGD(model.parameters(), lr=0.1)
        self.scaler = torch.amp.GradScaler("cuda")

    def finish(self):
        self.optim.step()  # expect: AMP208
        self.optim.zero_grad()

    def train_step(self, batch):
        self.scaler.scale(self.model(batch)).backward()
        self.scaler.step(self.optim)
        self.scaler.update()
        self.finish()


def in_a_float32_tail(model, optimizer, batches, use_amp):
    scaler = torch.amp.GradScaler("cuda", enabled=use_amp)
    for batch in batches:
        optimizer.zero_grad()
        loss = model(batch)
        if use_amp:
            scaler.scale(loss).backward()
            scaler.step(optimizer)
            scaler.update()
        else:
            loss.backward()
        optimizer.step()  # expect: AMP208
