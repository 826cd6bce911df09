import torch
from trainers import Trainer


class Classifier(Trainer):
    def step(self, batch):
        with torch.autocast("cuda", dtype=torch.bfloat16):
            loss = self.network(batch)
        self.scaler.scale(loss).backward()
        self.scaler.step(self.optimizer)
        self.scaler.update()
