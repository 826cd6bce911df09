import torch
from accelerate import Accelerator


class Model:
    """What a user's model may leave out."""

    def optimize(self, batch, trainer):
        raise NotImplementedError


class Alternating(Model):
    """Scales and steps itself, every few batches."""

    def optimize(self, batch, trainer):
        loss = self.net(batch).mean()
        trainer.scaler.scale(loss).backward()
        if trainer.steps % trainer.every == 0:
            trainer.scaler.step(trainer.optimizer)
            trainer.scaler.update()
            trainer.optimizer.zero_grad()


class Trainer:
    def __init__(self, model, optimizer, every):
        self.model = model
        self.optimizer = optimizer
        self.scaler = torch.amp.GradScaler("cuda")
        self.accelerator = Accelerator()
        self.every = every
        self.steps = 0

    def optimize(self, batch, optimizer):
        self.accelerator.backward(self.model(batch).mean())
        optimizer.step()
        optimizer.zero_grad()

    def train(self, batches):
        for batch in batches:
            self.steps += 1
            try:
                self.model.optimize(batch, self)
            except NotImplementedError:
                self.optimize(batch, self.optimizer)


def run(batches, optimizer):
    Trainer(Alternating(), optimizer, 4).train(batches)
