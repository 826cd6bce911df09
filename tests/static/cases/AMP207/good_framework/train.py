"""What the framework hands out for an optimizer steps by the framework's scaler, also where it goes on from there."""

import torch

from framework import Framework


def one_step(model, batch, optimizer, framework: Framework):
    framework.backward(model(batch))
    optimizer.step()
    optimizer.zero_grad()


def train(model, batches):
    framework = Framework()
    optimizer = torch.optim.AdamW(model.parameters())
    model, optimizer = framework.prepare(model, optimizer)
    for batch in batches:
        one_step(model, batch, optimizer, framework)


def by_another_name(model, batches, window):
    framework = Framework()
    prepared_model, prepared_optimizer = framework.prepare(model, torch.optim.AdamW(model.parameters()))
    for i, batch in enumerate(batches):
        framework.backward(prepared_model(batch))
        if i % window == 0:
            prepared_optimizer.step()
            prepared_optimizer.zero_grad()
