"""What is searched or counted is there again for the clip, or was no iterator."""

import itertools

import torch
from torch.nn.utils import clip_grad_norm_


def made_anew(model, optimizer, loss):
    loss.backward()
    weights = iter(list(model.parameters()))
    print(sum(w.grad is not None for w in weights))
    weights = iter(list(model.parameters()))
    clip_grad_norm_(weights, 1.0)
    optimizer.step()


def kept(model, optimizer, loss):
    loss.backward()
    weights = iter(model.parameters())
    weights = list(weights)
    print(any(w.grad is None for w in weights))
    clip_grad_norm_(weights, 1.0)
    optimizer.step()


def of_each(model, optimizer, loss):
    """What has a list draws from the list."""
    loss.backward()
    weights = [*model.parameters()]
    print(sum(w.numel() for w in iter(weights)))
    clip_grad_norm_(iter(weights), 1.0)
    optimizer.step()


def drawn_by_the_clip_alone(encoder, head, optimizer, loss):
    loss.backward()
    both = itertools.chain(encoder.parameters(), head.parameters())
    live = (w for w in both if w.grad is not None)
    clip_grad_norm_(live, 1.0)
    optimizer.step()


def a_copy_counted(model, optimizer, loss):
    loss.backward()
    weights, counted = itertools.tee(model.parameters())
    print(sum(torch.numel(w) for w in counted))
    clip_grad_norm_(weights, 1.0)
    optimizer.step()
