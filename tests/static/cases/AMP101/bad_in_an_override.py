"""A region around a method that is there to be overridden by one that trains."""

from abc import ABC, abstractmethod

import torch
from torch import nn


class Learner(ABC, nn.Module):
    @abstractmethod
    def learn(self, batch, optimizers):
        """Forward, loss, backward and step."""
        raise NotImplementedError("learn() is to be defined")

    def descend(self, loss):
        loss.backward()  # expect: AMP101


class Adversarial(Learner):
    def __init__(self, maker, critic):
        super().__init__()
        self.maker = maker
        self.critic = critic

    def learn(self, batch, optimizers):
        for part, optimizer in zip((self.maker, self.critic), optimizers):
            loss = part(batch).mean()
            self.descend(loss)
            optimizer.step()
            optimizer.zero_grad()
        return loss


class Coach:
    def __init__(self, learner: Learner, optimizers):
        self.learner = learner
        self.optimizers = optimizers

    def run(self, batches):
        for batch in batches:
            with torch.autocast("cuda", dtype=torch.float16):
                loss = self.learner.learn(batch, self.optimizers)
            print(loss)
