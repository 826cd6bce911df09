"""What a turn of the loop does."""

from base import BaseTrainer
from torch.amp import GradScaler, autocast


class Trainer(BaseTrainer):
    def __init__(self, loader, model, optimizer):
        super().__init__(loader)
        self.model, self.optimizer = model, optimizer
        self.scaler = GradScaler()

    def turn(self, batch, number):
        self.optimizer.zero_grad()
        with autocast("cuda"):
            loss = self.model(batch)
        value = loss.detach().cpu().item()  # expect: PERF101 likely
        self.scaler.scale(loss).backward()
        self.scaler.step(self.optimizer)
        self.scaler.update()
        return value
