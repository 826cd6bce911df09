"""What builds the scaler may give none, also where the condition for it holds."""

import torch


def scaler_for(device):
    return torch.amp.GradScaler("cuda") if device.type == "cuda" else None


class Trainer:
    def __init__(self, model, amp, device):
        self.model = model
        self.amp = amp
        self.optimizer = torch.optim.AdamW(model.parameters())
        self.scaler = scaler_for(device) if self.amp else None

    def train(self, loader):
        for batch in loader:
            self.optimizer.zero_grad()
            with torch.autocast("cuda", enabled=self.amp):
                loss = self.model(batch).pow(2).mean()
            if self.scaler is not None:
                self.scaler.scale(loss).backward()
            else:
                loss.backward()  # expect: AMP206
            if self.amp:
                self.scaler.step(self.optimizer)
                self.scaler.update()
