"""The thread is started in a method that is called in the region."""

from concurrent.futures import ThreadPoolExecutor

import torch


class Loop:
    def __init__(self, model, loss_fn):
        self.model, self.loss_fn = model, loss_fn
        self.pool = ThreadPoolExecutor(1)

    def run(self, inputs):
        return self.pool.submit(self.model, inputs).result()  # expect: AMP107 likely

    def step(self, inputs, targets, optimizer, scaler):
        with torch.autocast("cuda", dtype=torch.float16):
            loss = self.loss_fn(self.run(inputs), targets)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad()
