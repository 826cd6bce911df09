"""Steps that go past the scaler that scaled the gradients."""

import torch
from torch.amp import GradScaler


def still_scaled(model, optimizer, scaler, batches):
    for batch in batches:
        optimizer.zero_grad()
        scaler.scale(model(batch)).backward()
        optimizer.step()  # expect: AMP207
        scaler.update()


def unscaled_by_hand(model, optimizer, scaler, batches):
    for batch in batches:
        optimizer.zero_grad()
        scaler.scale(model(batch)).backward()
        scaler.unscale_(optimizer)
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()  # expect: AMP207
        scaler.update()


class Trainer:
    def __init__(self, model):
        self.model = model
        self.opt = torch.optim.AdamW(model.parameters())
        self.scaler = GradScaler("cuda")

    def backward(self, loss):
        self.scaler.scale(loss).backward()

    def apply(self):
        self.opt.step()  # expect: AMP207

    def train_step(self, batch):
        self.opt.zero_grad()
        self.backward(self.model(batch))
        self.apply()
        self.scaler.update()


def one_of_two(net_d, net_g, optim_d, optim_g, scaler, loss_d, loss_g):
    optim_d.zero_grad()
    scaler.scale(loss_d).backward()
    scaler.step(optim_d)
    scaler.update()
    optim_g.zero_grad()
    scaler.scale(loss_g).backward()
    optim_g.step()  # expect: AMP207
    scaler.update()


def in_the_wrong_arm(model, optimizer, batches, use_amp):
    scaler = GradScaler("cuda") if use_amp else None
    for batch in batches:
        optimizer.zero_grad()
        loss = model(batch)
        if use_amp:
            scaler.scale(loss).backward()
        else:
            loss.backward()
        optimizer.step()  # expect: AMP207
