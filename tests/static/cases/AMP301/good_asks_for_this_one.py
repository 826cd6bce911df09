"""Built when it is first needed, whatever it is called, and by whichever question."""

import torch


class Trainer:
    def __init__(self, model, optimizer):
        self.model, self.optimizer = model, optimizer
        self.amp = None
        self.parts = {}

    def fit(self, epochs, batches):
        for _ in range(epochs):
            if self.amp is None:
                self.amp = torch.amp.GradScaler("cuda")
            self.one_epoch(self.amp, batches)

    def fit_with_parts(self, epochs, batches):
        for _ in range(epochs):
            if "half" not in self.parts:
                self.parts["half"] = torch.amp.GradScaler("cuda")
            self.one_epoch(self.parts["half"], batches)

    def fit_later(self, epochs, batches):
        for _ in range(epochs):
            if not hasattr(self, "growing"):
                self.growing = torch.amp.GradScaler("cuda")
            self.one_epoch(self.growing, batches)

    def one_epoch(self, growing, batches):
        for batch in batches:
            self.optimizer.zero_grad()
            with torch.autocast("cuda", dtype=torch.float16):
                loss = self.model(batch).mean()
            growing.scale(loss).backward()
            growing.step(self.optimizer)
            growing.update()
