"""The trainer that has the scaler."""

import torch
from base import BaseTrainer
from scaling import LossScaler


class Trainer(BaseTrainer):
    def __init__(self, model, optimizer):
        super().__init__(model, optimizer)
        self.loss_scaler = LossScaler()

    def train(self, loader, epochs):
        for epoch in range(epochs):
            for inputs, targets in loader:
                self.optimizer.zero_grad()
                with torch.autocast("cuda"):
                    loss = self.model(inputs, targets)
                self.loss_scaler(loss, self.optimizer)
            self.save_checkpoint(f"{epoch}.pt")


def main(model, loader):
    trainer = Trainer(model, torch.optim.AdamW(model.parameters()))
    trainer.load_checkpoint("last.pt")
    trainer.train(loader, 10)
