"""Steps that something out of sight calls for every batch, and that leave nothing behind."""

import torch


class Model:
    def __init__(self, net, window):
        self.net = net
        self.optimizer = torch.optim.Adam(net.parameters())
        self.scaler = torch.amp.GradScaler("cuda")
        self.window = window

    def training_step(self, batch, number):
        with torch.autocast("cuda"):
            loss = self.net(batch).mean() / self.window
        self.scaler.scale(loss).backward()
        if (number + 1) % self.window == 0:
            self.scaler.unscale_(self.optimizer)
            torch.nn.utils.clip_grad_norm_(self.net.parameters(), 1.0)
            self.scaler.step(self.optimizer)
            self.scaler.update()
            self.optimizer.zero_grad()

    def whole_step(self, batch, clip):
        self.optimizer.zero_grad()
        with torch.autocast("cuda"):
            loss = self.net(batch).mean()
        self.scaler.scale(loss).backward()
        if clip:
            self.scaler.unscale_(self.optimizer)
            torch.nn.utils.clip_grad_norm_(self.net.parameters(), clip)
        self.scaler.step(self.optimizer)
        self.scaler.update()


def step(net, optimizer, scaler, batch, zero):
    """The caller may zero the gradients, and it may not."""
    if zero:
        optimizer.zero_grad()
    with torch.autocast("cuda"):
        loss = net(batch).mean()
    scaler.scale(loss).backward()
    scaler.unscale_(optimizer)
    torch.nn.utils.clip_grad_norm_(net.parameters(), 1.0)
    scaler.step(optimizer)
    scaler.update()
