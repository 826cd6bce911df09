"""A loop saves attributes by their names; the one that says scaler holds a normaliser."""

import torch


KEPT = ("model", "optimizer", "scaler")


class Normaliser:
    def __init__(self):
        self.mean = 0.0

    def state_dict(self):
        return {"mean": self.mean}

    def load_state_dict(self, state):
        self.mean = state["mean"]


class Trainer:
    def __init__(self, model):
        self.model = model
        self.optimizer = torch.optim.AdamW(model.parameters())
        self.scaler = Normaliser()
        self.half = torch.amp.GradScaler("cuda")

    def step(self, batch):
        with torch.autocast("cuda", dtype=torch.float16):
            loss = self.model(batch).mean()
        self.half.scale(loss).backward()
        self.half.step(self.optimizer)
        self.half.update()
        self.optimizer.zero_grad()

    def save(self, path):
        state = {}
        for name in KEPT:
            state[name] = getattr(self, name).state_dict()  # expect: AMP302
        torch.save(state, path)

    def resume(self, path):
        state = torch.load(path)
        for name in KEPT:
            getattr(self, name).load_state_dict(state[name])
