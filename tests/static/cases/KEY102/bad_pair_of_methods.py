import torch


class Trainer:
    def __init__(self, model, optimizer, scaler):
        self.model, self.optimizer, self.scaler = model, optimizer, scaler
        self.step = 0

    def state_dict(self):
        state = {"model": self.model.state_dict(), "opt": self.optimizer.state_dict()}
        state["step"] = self.step
        if self.scaler is not None:
            state["scaler"] = self.scaler.state_dict()
        return state

    def load_state_dict(self, state):
        self.model.load_state_dict(state["model"])
        self.optimizer.load_state_dict(state["optimizer"])  # expect: KEY102 likely
        self.step = state["step"]
        if self.scaler is not None:
            self.scaler.load_state_dict(state["scaler"])

    def save(self, path):
        torch.save(self.state_dict(), path)


class Meter:
    def __getstate__(self):
        return dict(total=self.total, count=self.count)

    def __setstate__(self, state):
        self.total, self.count = state["sum"], state["count"]  # expect: KEY102 likely
