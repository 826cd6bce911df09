"""Optimizers of a dict of which only some are in use, asked for in each loop."""

import torch


def only_those_in_use(model, optims, scaler, batches, active):
    for batch in batches:
        for name, o in optims.items():
            if name in active:
                o.zero_grad()
        scaler.scale(model(batch)).backward()
        for name, o in optims.items():
            if name in active:
                scaler.unscale_(o)
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        for name, o in optims.items():
            if name in active:
                scaler.step(o)
        scaler.update()
