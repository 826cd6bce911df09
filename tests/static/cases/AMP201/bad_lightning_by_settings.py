import torch
from lightning.pytorch import LightningModule, Trainer


class Adversary(LightningModule):
    def training_step(self, batch):
        optimizer = self.optimizers()
        self.manual_backward(self.generator(batch).mean())
        torch.nn.utils.clip_grad_norm_(self.generator.parameters(), 1.0)  # expect: AMP201 likely
        optimizer.step()


def train(batches, **settings):
    Trainer(**settings).fit(Adversary(), batches)
