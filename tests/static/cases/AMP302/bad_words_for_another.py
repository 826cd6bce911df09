"""The word stands beside the checkpoint, and what it means is no GradScaler: of features, in a comment, a number."""

import torch


class StandardScaler:
    def __init__(self, features):
        self.mean, self.std = features.mean(0), features.std(0)

    def state_dict(self):
        return {"mean": self.mean, "std": self.std}

    def load_state_dict(self, state):
        self.mean, self.std = state["mean"], state["std"]


class Trainer:
    def __init__(self, model, features):
        self.model = model
        self.optimizer = torch.optim.AdamW(model.parameters())
        self.amp_scaler = torch.amp.GradScaler("cuda")
        self.scaler = StandardScaler(features)

    def step(self, batch):
        with torch.autocast("cuda", dtype=torch.float16):
            loss = self.model(batch).mean()
        self.amp_scaler.scale(loss).backward()
        self.amp_scaler.step(self.optimizer)
        self.amp_scaler.update()
        self.optimizer.zero_grad()

    def save(self, path):
        # "scaler": scaler.state_dict() would belong here as well
        state = {
            "model": self.model.state_dict(),
            "optimizer": self.optimizer.state_dict(),  # expect: AMP302
            "scaler": self.scaler.state_dict(),
            "scaler_of_targets": 2.5,
        }
        state["loss_scaler"] = self.amp_scaler.get_scale()
        torch.save(state, path)

    def resume(self, path):
        state = torch.load(path)
        self.model.load_state_dict(state["model"])
        self.optimizer.load_state_dict(state["optimizer"])
        self.scaler.load_state_dict(state["scaler"])
