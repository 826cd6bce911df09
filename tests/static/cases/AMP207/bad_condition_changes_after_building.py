"""What the scaler was built under is not what holds later on."""

import torch


class SetAnew:
    def __init__(self, model, amp):
        self.model = model
        self.amp = amp
        self.optimizer = torch.optim.AdamW(model.parameters())
        self.scaler = torch.amp.GradScaler("cuda") if self.amp else None

    def finish(self):
        self.amp = False

    def train(self, loader):
        for batch in loader:
            self.optimizer.zero_grad()
            with torch.autocast("cuda"):
                loss = self.model(batch).pow(2).mean()
            if self.scaler is None:
                return
            self.scaler.scale(loss).backward()
            if self.amp:
                self.scaler.step(self.optimizer)
                self.scaler.update()
            else:
                self.optimizer.step()  # expect: AMP207


class NamedAnew:
    def __init__(self, model, amp, plain):
        self.model = model
        self.optimizer = torch.optim.AdamW(model.parameters())
        self.scaler = torch.amp.GradScaler("cuda") if amp else None
        amp = amp and not plain
        self.amp = amp

    def train(self, loader):
        for batch in loader:
            self.optimizer.zero_grad()
            with torch.autocast("cuda"):
                loss = self.model(batch).pow(2).mean()
            if self.scaler is None:
                return
            self.scaler.scale(loss).backward()
            if self.amp:
                self.scaler.step(self.optimizer)
                self.scaler.update()
            else:
                self.optimizer.step()  # expect: AMP207


def scaler_for(device):
    return torch.amp.GradScaler("cuda") if device.type == "cuda" else None


class NoneAllTheSame:
    def __init__(self, model, amp, device):
        self.model = model
        self.amp = amp
        self.optimizer = torch.optim.AdamW(model.parameters())
        self.scaler = scaler_for(device) if self.amp else None
        self.spare = torch.amp.GradScaler("cpu")

    def train(self, loader):
        for batch in loader:
            self.optimizer.zero_grad()
            with torch.autocast("cuda"):
                loss = self.model(batch).pow(2).mean()
            if self.scaler is not None:
                self.scaler.scale(loss).backward()
                self.scaler.step(self.optimizer)
                self.scaler.update()
                continue
            self.spare.scale(loss).backward()
            if self.amp:
                self.optimizer.step()  # expect: AMP207
            else:
                self.spare.step(self.optimizer)
                self.spare.update()
