"""A class around the scaler that hands on its state; the trainer asks all that it has for theirs, by whatever name."""

import torch


class Precision:
    def __init__(self):
        self._scaler = torch.amp.GradScaler("cuda")

    def step(self, loss, optimizer):
        self._scaler.scale(loss).backward()
        self._scaler.step(optimizer)
        self._scaler.update()

    def state_dict(self):
        return self._scaler.state_dict()

    def load_state_dict(self, state):
        self._scaler.load_state_dict(state)


class Trainer:
    def __init__(self, model, optimizer):
        self.model = model
        self.optimizer = optimizer
        self.precision = Precision()

    def save(self, path):
        kept = {"optimizer": self.optimizer.state_dict()}
        for name in ("model", "precision"):
            part = getattr(self, name)
            kept[name] = part.state_dict()
        torch.save(kept, path)

    def resume(self, path):
        kept = torch.load(path)
        self.optimizer.load_state_dict(kept["optimizer"])
        for name in ("model", "precision"):
            part = getattr(self, name)
            part.load_state_dict(kept[name])

    def train(self, loader):
        for inputs, targets in loader:
            self.optimizer.zero_grad()
            with torch.autocast("cuda"):
                loss = self.model(inputs, targets)
            self.precision.step(loss, self.optimizer)


def main(model, loader):
    trainer = Trainer(model, torch.optim.AdamW(model.parameters()))
    trainer.resume("last.pt")
    trainer.train(loader)
    trainer.save("last.pt")
