from torch import nn
from torch.cuda.amp import GradScaler, autocast


class Trainer(nn.Module):
    """Its user derives what `forward` gives, and calls `update`."""

    def __init__(self, model, optimizer, limit=None, amp=False):
        super().__init__()
        self.model = model
        self.optimizer = optimizer
        self.limit = limit
        self.scaler = GradScaler(enabled=amp)

    def forward(self, x):
        with autocast():
            loss = self.model(x)
        return self.scaler.scale(loss)

    def update(self):
        if self.limit is not None:
            nn.utils.clip_grad_norm_(self.model.parameters(), self.limit)  # expect: AMP201 likely
        self.scaler.step(self.optimizer)
        self.scaler.update()
        self.optimizer.zero_grad()


class Trainers(nn.Module):
    """One scaler and one optimizer for each model, under names that are made up as it runs."""

    def __init__(self, models, optimizers, limit=None, amp=False):
        super().__init__()
        self.models = models
        self.limit = limit
        for index, optimizer in enumerate(optimizers):
            setattr(self, f"optim{index}", optimizer)
            setattr(self, f"scaler{index}", GradScaler(enabled=amp))

    def forward(self, x, index):
        scaler = getattr(self, f"scaler{index}")
        with autocast():
            loss = self.models[index](x)
        return scaler.scale(loss)

    def update(self, index):
        if self.limit is not None:
            clip_grad_norm(self.models[index].parameters(), self.limit)  # expect: AMP201 likely
        optimizer = getattr(self, f"optim{index}")
        scaler = getattr(self, f"scaler{index}")
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad()


def clip_grad_norm(parameters, limit):
    for parameter in parameters:
        parameter.grad.detach().mul_(limit / parameter.grad.norm())
