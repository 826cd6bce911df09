import torch


class Trainer:
    """Each method is one step; who calls them decides the order."""

    def __init__(self):
        self.model = torch.nn.Linear(4, 1)
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.01)
        self.scaler = torch.amp.GradScaler("cpu", init_scale=8.0)

    def backward(self):
        with torch.autocast("cpu", dtype=torch.float16):
            loss = self.model(torch.ones(2, 4)).float().mean()
        self.scaler.scale(loss).backward()

    def unscale(self):
        self.scaler.unscale_(self.optimizer)

    def clip(self):
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)

    def step(self):
        self.scaler.step(self.optimizer)
        self.scaler.update()
        self.optimizer.zero_grad()


def train(trainer, unscales):
    for _ in range(3):
        trainer.backward()
        if unscales:
            trainer.unscale()
        torch.nn.utils.clip_grad_norm_(trainer.model.parameters(), 1.0)
        trainer.step()


def train_right(trainer, is_last=lambda: True):
    for _ in range(3):
        trainer.backward()
        trainer.unscale()
        torch.nn.utils.clip_grad_norm_(trainer.model.parameters(), 2.0)
        trainer.step()


def train_with_errors(trainer):
    trainer.backward()
    trainer.unscale()
    trainer.unscale()
