"""Every step reaches its update."""

from torch.amp import GradScaler


def once(model, optimizer, scaler, batch):
    """Its caller, who may update, is out of sight."""
    scaler.scale(model(batch)).backward()
    scaler.step(optimizer)


def shared_by_two(net_d, net_g, optim_d, optim_g, scaler, batches):
    for batch in batches:
        optim_d.zero_grad()
        scaler.scale(net_d(batch)).backward()
        scaler.step(optim_d)
        optim_g.zero_grad()
        scaler.scale(net_g(batch)).backward()
        scaler.step(optim_g)
        scaler.update()


class Trainer:
    def __init__(self, model, optimizer):
        self.model = model
        self.optimizer = optimizer
        self.scaler = GradScaler("cuda")

    def train_step(self, batch):
        self.optimizer.zero_grad()
        self.scaler.scale(self.model(batch)).backward()
        self.scaler.step(self.optimizer)

    def after_step(self):
        self.scaler.update()

    def fit(self, batches):
        for batch in batches:
            self.train_step(batch)
            self.after_step()


def accumulated(model, optimizer, scaler, batches, window):
    for i, batch in enumerate(batches, 1):
        scaler.scale(model(batch) / window).backward()
        if i % window:
            continue
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad()


def skipped_by_hand(model, optimizer, scaler, batches, limit):
    for batch in batches:
        optimizer.zero_grad()
        loss = model(batch)
        if loss.item() > limit:
            continue
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()


def breaks_out(model, optimizer, scaler, batches):
    for batch in batches:
        optimizer.zero_grad()
        scaler.scale(model(batch)).backward()
        scaler.step(optimizer)
        break
    scaler.update()
