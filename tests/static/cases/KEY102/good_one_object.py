"""An object that reads somebody else's checkpoint as well as its own."""

import torch


class Trainer:
    def __init__(self, model):
        self.model = model
        self.optimizer = torch.optim.Adam(model.parameters())

    def save(self, path):
        torch.save({"model": self.model.state_dict(), "optimizer": self.optimizer.state_dict()}, path)

    def resume(self, path):
        state = torch.load(path)
        self.model.load_state_dict(state["model"])
        self.optimizer.load_state_dict(state["optimizer"])

    def load_state_of_the_paper(self, path):
        state = torch.load(path)
        self.model.load_state_dict(state["model"])
        return state["vocabulary"], state["settings"]

    def load_weights(self, path):
        self.model.load_state_dict(torch.load(path)["weights"])
