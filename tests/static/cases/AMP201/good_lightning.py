import torch
from lightning.pytorch import LightningModule, Trainer


class Adversary(LightningModule):
    def __init__(self, generator):
        super().__init__()
        self.automatic_optimization = False
        self.generator = generator

    def training_step(self, batch):
        optimizer = self.optimizers()
        self.manual_backward(self.generator(batch).mean())
        optimizer.step()
        optimizer.zero_grad()

    def on_before_optimizer_step(self, optimizer):
        torch.nn.utils.clip_grad_norm_(self.parameters(), 1.0)


def train(generator, batches):
    Trainer(precision="16-mixed").fit(Adversary(generator), batches)
