"""An optimizer around others, whose `state_dict` gives theirs: the trainer keeps it in a checkpoint."""

from torch.optim import Optimizer


class ChainedOptimizer(Optimizer):
    def __init__(self, params, optimizers):
        super().__init__(params, {})
        self.optimizers = optimizers

    def state_dict(self):
        return {"optimizers": [each.state_dict() for each in self.optimizers], **super().state_dict()}

    def load_state_dict(self, state):
        for each, kept in zip(self.optimizers, state["optimizers"], strict=True):
            each.load_state_dict(kept)

    def step(self, closure=None):
        for each in self.optimizers:
            each.step()
