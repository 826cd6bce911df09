"""No name says what these are: only the calls of the constructors do, in another file."""

import torch
from torch.amp import autocast


class Trainer:
    def __init__(self, net, descent, growth):
        self.net = net
        self.descent = descent
        self.growth = growth

    def one(self, batch):
        self.descent.zero_grad()
        with autocast("cuda"):
            loss = self.net(batch).mean()
        self.growth.scale(loss).backward()
        torch.nn.utils.clip_grad_norm_(self.net.parameters(), 1.0)  # expect: AMP201
        self.growth.step(self.descent)
        self.growth.update()


class Base:
    def __init__(self, net, descent, growth=None):
        self.net = net
        self.descent = descent
        self.growth = growth


class Handing(Base):
    """Takes what it is given, and hands it on."""

    def __init__(self, net, *parts, rate=0.1, **named):
        super().__init__(net, *parts, **named)
        self.rate = rate

    def one(self, batch):
        self.descent.zero_grad()
        with autocast("cuda"):
            loss = self.net(batch).mean()
        self.growth.scale(loss).backward()
        torch.nn.utils.clip_grad_norm_(self.net.parameters(), 1.0)  # expect: AMP201
        self.growth.step(self.descent)
        self.growth.update()


class Spread(Base):
    def one(self, batch):
        self.descent.zero_grad()
        with autocast("cuda"):
            loss = self.net(batch).mean()
        self.growth.scale(loss).backward()
        torch.nn.utils.clip_grad_norm_(self.net.parameters(), 1.0)  # expect: AMP201
        self.growth.step(self.descent)
        self.growth.update()
