import torch
from optimizers import Several
from torch.amp import GradScaler


class Trainer:
    def __init__(self, models):
        self.models = models
        self.optimizer = Several({name: torch.optim.SGD(model.parameters()) for name, model in models.items()})
        self.scaler = GradScaler("cuda")

    def train(self, loader):
        for batch in loader:
            with torch.autocast("cuda"):
                loss = sum(model(batch).mean() for model in self.models.values())
            self.scaler.scale(loss).backward()
            self.optimizer.step(self.scaler)

    def save(self, path):
        torch.save({"optimizer": self.optimizer.state_dict()}, path)  # expect: AMP302
