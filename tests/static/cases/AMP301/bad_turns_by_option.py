"""How often the loop turns is an option: once, where nobody asks for more."""

import argparse

from torch.amp import GradScaler, autocast


class Learner:
    def __init__(self, model, optimizer, loader):
        self.model, self.optimizer, self.loader = model, optimizer, loader

    def fit(self):
        scaler = GradScaler("cuda")  # expect: AMP301 likely
        for batch in self.loader:
            self.optimizer.zero_grad()
            with autocast("cuda"):
                loss = self.model(batch)
            scaler.scale(loss).backward()
            scaler.step(self.optimizer)
            scaler.update()


def main(model, optimizer, loader):
    parser = argparse.ArgumentParser()
    parser.add_argument("--num-rounds", type=int, default=1)
    options = parser.parse_args()
    learner = Learner(model, optimizer, loader)
    for _ in range(options.num_rounds):
        learner.fit()
