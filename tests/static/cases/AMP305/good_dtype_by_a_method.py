"""Which dtype a region computes in says a method that the class below overrides; only objects of that class are made."""

import torch


class Trainer:
    def __init__(self, model):
        self.model = model.cuda()
        self.optimizer = torch.optim.AdamW(self.model.parameters())

    def compute_dtype(self):
        return torch.float16

    def epoch(self, batches):
        for x in batches:
            self.optimizer.zero_grad()
            with torch.autocast("cuda", dtype=self.compute_dtype()):
                loss = self.model(x).float().mean()
            loss.backward()
            self.optimizer.step()


class HalfTrainer(Trainer):
    def compute_dtype(self):
        return torch.bfloat16


HalfTrainer(torch.nn.Linear(4, 4)).epoch(torch.randn(9, 4, 4, device="cuda"))
