"""A loop that calls the methods of its hooks by name."""

import torch
from hooks import Scaling


class Runner:
    def __init__(self, model, descent, hooks):
        self.model = model
        self.descent = descent
        self.hooks = hooks

    def call(self, name):
        for hook in self.hooks:
            getattr(hook, name)(self)

    def run(self, loader):
        for batch in loader:
            with torch.autocast("cuda"):
                self.loss = self.model(batch).mean()
            self.call("after_forward")
            self.call("before_update")
            self.call("update")


def main(model, loader):
    Runner(model, torch.optim.SGD(model.parameters()), [Scaling(1.0)]).run(loader)
