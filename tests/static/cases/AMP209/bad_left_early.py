from contextlib import contextmanager

import torch


class Loop:
    def __init__(self, model, optimizer, loss_fn):
        self.model, self.optimizer, self.loss_fn = model, optimizer, loss_fn
        self.scaler = torch.amp.GradScaler("cuda")

    @contextmanager
    def stepped(self, loss):
        self.optimizer.zero_grad()
        self.scaler.scale(loss).backward()
        yield
        self.scaler.step(self.optimizer)  # expect: AMP209

    def run(self, batches):
        for inputs, targets, logs in batches:
            with torch.autocast("cuda", dtype=torch.float16):
                loss = self.loss_fn(self.model(inputs), targets)
            with self.stepped(loss):
                if not logs:
                    continue
                print(loss.item())
