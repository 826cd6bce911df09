import torch
from plugins import WarmupPlugin
from torch.amp import GradScaler


class Trainer:
    def __init__(self, model, loader, optimizer, scheduler):
        self.model = model
        self.loader = iter(loader)
        self.optimizer = optimizer
        self.scaler = GradScaler("cuda")
        self.plugins = [WarmupPlugin(scheduler)]

    def run_step(self):
        with torch.autocast("cuda", dtype=torch.float16):
            loss = self.model(next(self.loader))
        self.optimizer.zero_grad()
        self.scaler.scale(loss).backward()
        before = self.scaler.get_scale()
        self.scaler.step(self.optimizer)
        self.scaler.update()
        self.was_run = self.scaler.get_scale() >= before


def main(build):
    trainer = Trainer(*build())
    trainer.run_step()
    for plugin in trainer.plugins:
        plugin.after_training_batch(optimizer_was_run=trainer.was_run)
