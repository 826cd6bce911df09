import lightning as L
import torch
from torch import nn


class Autoencoder(L.LightningModule):
    def __init__(self, width):
        super().__init__()
        self.automatic_optimization = False
        self.layers = nn.Linear(width, width)

    def training_step(self, batch, number):
        adam = self.optimizers()
        error = nn.functional.mse_loss(self.layers(batch), batch)
        self.manual_backward(error)
        nn.utils.clip_grad_norm_(self.layers.parameters(), 0.5)  # expect: AMP201 likely
        adam.step()
        adam.zero_grad()
