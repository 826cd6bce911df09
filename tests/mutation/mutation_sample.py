"""A whole small training program, right in every respect, in which every operator finds something to break."""

from __future__ import annotations

TRAIN = """\
import torch
from torch import nn


def train(use_amp=True, epochs=2):
    torch.manual_seed(0)
    model = nn.Linear(8, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=1, gamma=0.9)
    scaler = torch.amp.GradScaler("cpu", init_scale=2.0**10, enabled=use_amp)
    inputs, targets = torch.randn(4, 8), torch.randn(4, 1)
    total = 0.0
    for epoch in range(epochs):
        for batch in range(4):
            with torch.autocast("cpu", dtype=torch.float16, enabled=use_amp):
                outputs = model(inputs)
                loss = nn.functional.mse_loss(outputs, targets)
            scaler.scale(loss).backward()
            total += loss.detach()
            scaler.unscale_(optimizer)
            norm = nn.utils.clip_grad_norm_(model.parameters(), 0.1)
            scale = scaler.get_scale()
            scaler.step(optimizer)
            scaler.update()
            optimizer.zero_grad()
            if scaler.get_scale() >= scale:
                scheduler.step()
    return model, optimizer, scaler, norm


def evaluate(model, inputs):
    with torch.no_grad():
        with torch.autocast("cpu", dtype=torch.float16):
            return model(inputs).argmax()


def save(path, model, optimizer, scaler):
    state = {"model": model.state_dict(), "optimizer": optimizer.state_dict(), "scaler": scaler.state_dict()}
    torch.save(state, path)


def load(path, model, optimizer, scaler):
    state = torch.load(path)
    model.load_state_dict(state["model"])
    optimizer.load_state_dict(state["optimizer"])
    scaler.load_state_dict(state["scaler"])


if __name__ == "__main__":
    train()
"""

ACCUMULATING = """\
import torch


def step(model, optimizer, scheduler, scaler: torch.amp.GradScaler, window):
    for batch in window:
        with torch.autocast("cuda", dtype=torch.float16):
            loss = model(batch) / len(window)
        scaler.scale(loss).backward()
    scaler.unscale_(optimizer)
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    scaler.step(optimizer)
    scaler.update()
    optimizer.zero_grad()
    scheduler.step()
"""

TESTS = """\
from train import train


def test_it_trains():
    model, *_ = train()
    assert all(parameter.isfinite().all() for parameter in model.parameters())
"""
