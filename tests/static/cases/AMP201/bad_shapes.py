"""Clips in many shapes, all on scaled gradients."""

import torch
from torch.cuda import amp
from torch.nn.utils import clip_grad_norm_ as clip_norm


def norm_then_unscale(model, optimizer, loss):
    scaler = amp.GradScaler()
    scaler.scale(loss).backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)  # expect: AMP201
    scaler.unscale_(optimizer)
    scaler.step(optimizer)
    scaler.update()


def never_unscaled(model, optimizer, scaler, batches):
    for batch in batches:
        optimizer.zero_grad()
        scaled = scaler.scale(model(batch))
        scaled.backward()
        clip_norm(model.parameters(), 1.0)  # expect: AMP201
        scaler.step(optimizer)
        scaler.update()


def by_hand(model, optimizer, scaler, loss):
    scaler.scale(loss).backward()
    for p in model.parameters():
        p.grad.data.clamp_(-1, 1)  # expect: AMP201
    scaler.step(optimizer)
    scaler.update()


class Trainer:
    def __init__(self, model):
        self.model = model
        self.optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        self.scaler = torch.amp.GradScaler("cuda")

    def backward(self, loss):
        self.scaler.scale(loss).backward()

    def clip(self):
        torch.nn.utils.clip_grad_value_(self.model.parameters(), 0.5)  # expect: AMP201

    def train_step(self, loss):
        self.backward(loss)
        self.clip()
        self.scaler.step(self.optimizer)
        self.scaler.update()


def with_a_float32_twin(model, optimizer, loss, use_amp):
    scaler = torch.amp.GradScaler("cuda") if use_amp else None
    if use_amp:
        scaler.scale(loss).backward()
    else:
        loss.backward()
    clip_norm(model.parameters(), 1.0)  # expect: AMP201
    if use_amp:
        scaler.step(optimizer)
        scaler.update()
    else:
        optimizer.step()


def only_when_a_setting_says_so(model, optimizer, scaler, loss, args):
    scaler.scale(loss).backward()
    if args.unscale:
        scaler.unscale_(optimizer)
    clip_norm(model.parameters(), 1.0)  # expect: AMP201 likely
    scaler.step(optimizer)
    scaler.update()


def clip_behind_a_loop_that_ends_in_an_assignment(model, optimizer, scaler, window):
    """What ends the loop's body has nothing to do with AMP; the way on from there must not get lost."""
    total = 0
    for batch in window:
        scaler.scale(model(batch)).backward()
        total += 1
    clip_norm(model.parameters(), 1.0)  # expect: AMP201
    scaler.step(optimizer)
    scaler.update()
    optimizer.zero_grad()
    return total
