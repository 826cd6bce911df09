"""What asks whether there is a scaler, and what asks for what it was built under, ask for one thing."""

import torch
from torch import nn


class Chosen:
    def __init__(self, cfg):
        self.cfg = cfg

    def build(self):
        self.model = nn.Linear(4, 4).cuda()
        self.optimizer = torch.optim.AdamW(self.model.parameters())
        self.scaler = torch.amp.GradScaler("cuda") if self.cfg.train.use_amp else None

    def backward(self, batch):
        with torch.autocast("cuda", enabled=self.cfg.train.use_amp):
            loss = self.model(batch).pow(2).mean()
        if self.scaler is None:
            loss.backward()
        else:
            self.scaler.scale(loss).backward()

    def train(self, loader):
        self.build()
        for batch in loader:
            self.backward(batch.cuda())
            if self.cfg.train.use_amp:
                self.scaler.step(self.optimizer)
                self.scaler.update()
            else:
                self.optimizer.step()
            self.model.zero_grad()


class InTwoArms:
    def __init__(self, model, amp):
        self.model = model
        self.amp = amp
        self.optimizer = torch.optim.AdamW(model.parameters())
        if amp:
            self.scaler = torch.amp.GradScaler("cuda")
        else:
            self.scaler = None

    def train(self, loader):
        for batch in loader:
            self.optimizer.zero_grad()
            with torch.autocast("cuda", enabled=self.amp):
                loss = self.model(batch).pow(2).mean()
            scaler = self.scaler
            if scaler:
                scaler.scale(loss).backward()
            else:
                loss.backward()
            if self.amp:
                self.scaler.step(self.optimizer)
                self.scaler.update()
            else:
                self.optimizer.step()


class BehindADefault:
    def __init__(self, model, amp):
        self.model = model
        self.amp = amp
        self.optimizer = torch.optim.AdamW(model.parameters())
        self.scaler = None
        if self.amp and torch.cuda.is_available():
            self.scaler = torch.amp.GradScaler("cuda")

    def train(self, loader):
        for batch in loader:
            self.optimizer.zero_grad()
            with torch.autocast("cuda", enabled=self.amp):
                loss = self.model(batch).pow(2).mean()
            if self.amp and torch.cuda.is_available():
                self.scaler.scale(loss).backward()
            else:
                loss.backward()
            if self.scaler is not None:
                self.scaler.step(self.optimizer)
                self.scaler.update()
            else:
                self.optimizer.step()


def main(cfg, model, loader):
    InTwoArms(model, cfg.amp).train(loader)
    trainer = Chosen(cfg)
    trainer.train(loader)
