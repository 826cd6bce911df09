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


class Keeper:
    """What the optimizer has gone through, the clip finds empty."""

    def __init__(self, encoder, decoder, scaler):
        self.scaler = scaler
        self.kept = self.unfrozen(encoder, decoder)
        self.optimizer = self.make_optimizer(self.kept)

    def unfrozen(self, encoder, decoder):
        parameters = chain([])
        parameters = chain(parameters, encoder.parameters())
        parameters = chain(parameters, decoder.parameters())
        return parameters

    def make_optimizer(self, parameters):
        return torch.optim.AdamW(chain(parameters), lr=1e-5)

    def step(self, loss):
        self.scaler.scale(loss).backward()
        self.scaler.unscale_(self.optimizer)
        torch.nn.utils.clip_grad_norm_(parameters=self.kept, max_norm=1.0)  # expect: AMP219
        self.scaler.step(self.optimizer)
        self.scaler.update()
