"""A class that refuses to be set up with a scaler: its steps have none to go past."""

import torch


class Procedure:
    def __init__(self, settings):
        self.scaler = None
        self.configure(settings)

    def configure(self, settings):
        if settings.get("half"):
            self.scaler = torch.amp.GradScaler("cuda")

    def differentiate(self, loss):
        if self.scaler is not None:
            loss = self.scaler.scale(loss)
        loss.backward()


class ByClosure(Procedure):
    def configure(self, settings):
        super().configure(settings)
        if self.scaler is not None:
            raise ValueError("a step with a closure takes no scaler")

    def step(self, model, optimizer, batch):
        def closure():
            optimizer.zero_grad()
            with torch.autocast("cuda"):
                loss = model(batch).mean()
            self.differentiate(loss)
            return loss

        return optimizer.step(closure)


class Direct(Procedure):
    def configure(self, settings):
        super().configure(settings)
        if self.scaler:
            raise ValueError("no scaler here")

    def step(self, model, optimizer, batch):
        optimizer.zero_grad()
        with torch.autocast("cuda"):
            loss = model(batch).mean()
        self.differentiate(loss)
        optimizer.step()
