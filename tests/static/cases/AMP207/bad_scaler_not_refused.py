"""Classes that ask for their scaler, and have one nevertheless."""

import torch


class Procedure:
    def __init__(self, settings):
        self.scaler = None
        self.configure(settings)

    def configure(self, settings):
        self.scaler = torch.amp.GradScaler("cuda")

    def differentiate(self, loss):
        self.scaler.scale(loss).backward()


class OnlyWarns(Procedure):
    def configure(self, settings):
        super().configure(settings)
        if self.scaler is not None:
            print("a step with a closure takes no scaler")

    def step(self, model, optimizer, batch):
        optimizer.zero_grad()
        with torch.autocast("cuda"):
            loss = model(batch).mean()
        self.differentiate(loss)
        optimizer.step()  # expect: AMP207


class AsksElsewhere(Procedure):
    def check(self):
        if self.scaler is not None:
            raise ValueError("no scaler here")

    def step(self, model, optimizer, batch):
        optimizer.zero_grad()
        with torch.autocast("cuda"):
            loss = model(batch).mean()
        self.differentiate(loss)
        optimizer.step()  # expect: AMP207


class AsksForTheOpposite(Procedure):
    def configure(self, settings):
        super().configure(settings)
        if self.scaler is None:
            raise ValueError("a scaler is needed")

    def step(self, model, optimizer, batch):
        optimizer.zero_grad()
        with torch.autocast("cuda"):
            loss = model(batch).mean()
        self.differentiate(loss)
        optimizer.step()  # expect: AMP207
