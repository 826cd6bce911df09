"""An engine steps, a function runs one batch by it, and the loop over the batches has the schedule."""

import torch


class Engine:
    def __init__(self, most):
        self.scaler = torch.amp.GradScaler("cuda")
        self.most = most

    def backward(self, loss):
        self.scaler.scale(loss).backward()

    def step(self, optimizer, model):
        self.scaler.unscale_(optimizer)
        torch.nn.utils.clip_grad_norm_(model.parameters(), self.most)
        self.scaler.step(optimizer)
        self.scaler.update()
        optimizer.zero_grad()


def run_batch(batch, model, optimizer, engine):
    with torch.autocast("cuda"):
        loss = model(batch).mean()
    engine.backward(loss)
    engine.step(optimizer, model)


def train(model, optimizer, batches, steps):
    engine = Engine(1.0)
    scheduler = torch.optim.lr_scheduler.OneCycleLR(optimizer, 0.1, total_steps=steps)
    for batch in batches:
        run_batch(batch, model, optimizer, engine)
        scheduler.step()  # expect: AMP213 likely
