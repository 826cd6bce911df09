"""Clips that get no parameters."""

from itertools import chain

import torch
from torch.nn.utils import clip_grad_norm_


def shared_with_the_optimizer(model, scaler, loss):
    parameters = model.parameters()
    optimizer = torch.optim.SGD(parameters, lr=0.1)
    scaler.scale(loss).backward()
    scaler.unscale_(optimizer)
    clip_grad_norm_(parameters, 1.0)  # expect: AMP219
    scaler.step(optimizer)
    scaler.update()


def bound_outside_the_loop(encoder, head, optimizer, batches):
    both = chain(encoder.parameters(), head.parameters())
    for batch in batches:
        optimizer.zero_grad()
        head(encoder(batch)).backward()
        clip_grad_norm_(both, 1.0)  # expect: AMP219
        optimizer.step()


def counted_before(model, optimizer, loss):
    trained = filter(lambda p: p.requires_grad, model.parameters())
    print(sum(p.numel() for p in trained))
    loss.backward()
    torch.nn.utils.clip_grad_norm_(trained, 1.0)  # expect: AMP219
    optimizer.step()
