"""The loop is in the base class; what derives from it runs the backward."""

import torch


class Engine:
    def __init__(self, optimizer, every):
        self.optimizer = optimizer
        self.every = every
        self.scaler = torch.amp.GradScaler("cuda")

    def one_batch(self, batch):
        """Forward and backward of one batch."""
        raise NotImplementedError(f"{type(self)} has to say how.")

    def train(self, batches):
        for number, batch in enumerate(batches):
            self.one_batch(batch)
            if (number + 1) % self.every == 0:
                self.scaler.step(self.optimizer)
                self.scaler.update()
            self.optimizer.zero_grad()  # expect: AMP212
