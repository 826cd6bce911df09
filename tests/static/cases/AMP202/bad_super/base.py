import torch
from torch.amp import GradScaler


class Base:
    def __init__(self, model):
        self.model = model
        self.optimizer = torch.optim.SGD(model.parameters())
        self.amp = GradScaler("cuda")

    def before_step(self):
        self.amp.unscale_(self.optimizer)
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)


class Watched:
    """Mixed in: which class comes behind it is another's matter."""

    def before_step(self):
        self.amp.unscale_(self.optimizer)
        super().before_step()


class Unscaling:
    def before_step(self):
        self.amp.unscale_(self.optimizer)  # expect: AMP202
