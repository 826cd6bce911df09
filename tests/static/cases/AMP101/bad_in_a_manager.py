from contextlib import contextmanager

import torch


class Loop:
    def __init__(self, model, optimizer, loss_fn, amp):
        self.model, self.optimizer, self.loss_fn, self.amp = model, optimizer, loss_fn, amp
        self.scaler = torch.amp.GradScaler("cuda")

    @contextmanager
    def precision(self):
        if self.amp:
            with torch.autocast("cuda", dtype=torch.float16):
                yield
        else:
            yield

    def run(self, batches):
        for inputs, targets in batches:
            self.optimizer.zero_grad()
            with self.precision():
                loss = self.loss_fn(self.model(inputs), targets)
                self.scaler.scale(loss).backward()  # expect: AMP101
            self.scaler.step(self.optimizer)
            self.scaler.update()
