import torch
from torch.amp import GradScaler


class Processor:
    def __init__(self, limit):
        self.scaler = GradScaler("cuda")
        self.limit = limit

    def step(self, model, batch, optimizer, losses):
        optimizer.zero_grad()
        with torch.autocast("cuda"):
            losses.calc(model(batch), batch)
        losses.backward(self.scaler)
        self.scaler.unscale_(optimizer)
        torch.nn.utils.clip_grad_norm_(model.parameters(), self.limit)
        self.scaler.step(optimizer)
        self.scaler.update()

    def step_by_keyword(self, model, batch, optimizer, total_loss):
        optimizer.zero_grad()
        with torch.autocast("cuda"):
            total_loss.add(model(batch))
        total_loss.backward(scaler=self.scaler)
        self.scaler.step(optimizer)
        self.scaler.update()
