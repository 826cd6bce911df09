"""A helper that scales where there is a scaler, and leaves the loss alone where there is none."""

import torch


class Runtime:
    def __init__(self, scaler=None):
        self.scaler = scaler

    def execute(self, block, batch):
        if self.scaler is None:

            def scaled(loss):
                return loss

        else:

            def scaled(loss):
                return self.scaler.scale(loss)

        block.optimizer.zero_grad()
        with torch.autocast("cuda"):
            loss = block.run(batch)
        scaled(loss).backward()
        if self.scaler is not None:
            self.scaler.step(block.optimizer)
            self.scaler.update()
        else:
            block.optimizer.step()


def train(block, batches):
    runtime = Runtime(torch.amp.GradScaler("cuda"))
    for batch in batches:
        runtime.execute(block, batch)
