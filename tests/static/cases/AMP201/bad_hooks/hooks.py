import torch
from torch.amp import GradScaler


class Scaling:
    def __init__(self, limit):
        self.limit = limit
        self.growth = GradScaler("cuda")

    def after_forward(self, runner):
        runner.descent.zero_grad()
        self.growth.scale(runner.loss).backward()

    def before_update(self, runner):
        torch.nn.utils.clip_grad_norm_(runner.model.parameters(), self.limit)  # expect: AMP201

    def update(self, runner):
        self.growth.step(runner.descent)
        self.growth.update()
