import torch


class Base:
    """An object runs the `iteration` of its own class in every turn, never that of another one in between."""

    def __init__(self, model, optimizer, loss_fn):
        self.model, self.optimizer, self.loss_fn = model, optimizer, loss_fn

    def iteration(self, data):
        raise NotImplementedError

    def train(self, loader):
        for data in loader:
            self.iteration(data)


class Plain(Base):
    def iteration(self, data):
        self.optimizer.zero_grad()
        loss = self.loss_fn(self.model(data))
        loss.backward()


class Scaled(Base):
    def __init__(self, model, optimizer, loss_fn):
        super().__init__(model, optimizer, loss_fn)
        self.scaler = torch.amp.GradScaler("cuda")

    def iteration(self, data):
        with torch.autocast("cuda", dtype=torch.float16):
            loss = self.loss_fn(self.model(data))
        self.scaler.scale(loss).backward()
        self.scaler.step(self.optimizer)
        self.scaler.update()
        self.optimizer.zero_grad()
