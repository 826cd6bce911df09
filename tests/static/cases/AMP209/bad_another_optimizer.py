"""Another optimizer takes the place of this one after some steps only."""

import torch


class Trainer:
    def __init__(self, model, make):
        self.model = model
        self.make = make
        self.optimizer = make(model)
        self.grown = {1000, 3000}
        self.scaler = torch.amp.GradScaler("cuda")

    def train(self, batches):
        for number, batch in enumerate(batches):
            self.optimizer.zero_grad()
            with torch.autocast("cuda", dtype=torch.float16):
                loss = self.model(batch)
            self.scaler.scale(loss).backward()
            self.scaler.step(self.optimizer)  # expect: AMP209
            if number in self.grown:
                self.optimizer = self.make(self.model)
