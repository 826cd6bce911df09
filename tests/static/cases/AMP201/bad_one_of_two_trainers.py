import torch
from factory import build
from torch.amp import GradScaler


class Trainer:
    def __init__(self, loader, model, limit):
        self.loader = loader
        self.model = model
        self.limit = limit

    def fit(self, epochs):
        for _ in range(epochs):
            for batch in self.loader:
                self.train_batch(batch)

    def train_batch(self, batch):
        raise NotImplementedError


class Encoder(Trainer):
    def __init__(self, loader, model, limit):
        super().__init__(loader, model, limit)
        self.scaler = GradScaler("cuda")
        self.optimizer = build(limit)["optimizer"]

    def train_batch(self, batch):
        self.optimizer.zero_grad()
        with torch.autocast("cuda"):
            loss = self.model(batch).mean()
        self.scaler.scale(loss).backward()
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), self.limit)  # expect: AMP201
        self.scaler.step(self.optimizer)
        self.scaler.update()


class Prior(Trainer):
    def __init__(self, loader, model, prior, limit):
        super().__init__(loader, model, limit)
        self.prior = prior
        self.scaler = build(limit)["scaler"]
        self.model_optimizer, self.prior_optimizer = build(limit)["model"], build(limit)["prior"]

    def train_batch(self, batch):
        self.model_optimizer.zero_grad()
        with torch.autocast("cuda"):
            loss = self.model(batch).mean()
        self.scaler.scale(loss).backward()
        self.scaler.unscale_(self.model_optimizer)
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), self.limit)
        self.scaler.step(self.model_optimizer)
        self.prior_optimizer.zero_grad()
        with torch.autocast("cuda"):
            loss = self.prior(batch).mean()
        self.scaler.scale(loss).backward()
        self.scaler.step(self.prior_optimizer)
        self.scaler.update()
