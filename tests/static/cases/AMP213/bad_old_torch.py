"""Where torch has no GradScaler, a class of the same name does nothing; where it has one, it is live."""

import torch
from torch.optim.lr_scheduler import OneCycleLR

try:
    from torch.cuda.amp import GradScaler
except ImportError:

    class GradScaler:
        def __init__(self, enabled=False):
            pass

        def scale(self, loss):
            return loss

        def step(self, optimizer):
            optimizer.step()

        def update(self):
            pass


def train(model, batches, mixed):
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    cycle = OneCycleLR(optimizer, 1e-4, total_steps=1000)
    scaler = GradScaler(enabled=mixed)
    for batch in batches:
        optimizer.zero_grad()
        scaler.scale(model(batch)).backward()
        scaler.step(optimizer)
        cycle.step()  # expect: AMP213 likely
        scaler.update()
