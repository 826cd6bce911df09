"""What is given to the constructor of one class is nothing to another of the same base, and it may be no scaler."""

import torch


class Base:
    def __init__(self, net, descent, growth=None):
        self.net = net
        self.descent = descent
        self.growth = growth


class Plain(Base):
    def one(self, batch):
        self.descent.zero_grad()
        self.net(batch).mean().backward()
        torch.nn.utils.clip_grad_norm_(self.net.parameters(), 1.0)
        self.descent.step()


class Population:
    """A `growth` with the same verbs."""

    def scale(self, loss):
        return loss

    def step(self, descent):
        descent.step()

    def update(self):
        pass


class Growing(Base):
    def one(self, batch):
        self.descent.zero_grad()
        loss = self.net(batch).mean()
        self.growth.scale(loss).backward()
        torch.nn.utils.clip_grad_norm_(self.net.parameters(), 1.0)
        self.growth.step(self.descent)
        self.growth.update()
