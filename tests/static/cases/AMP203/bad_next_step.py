"""A step that something out of sight calls for every batch: the next call shows what this one leaves."""

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
        self.scaler.unscale_(self.optimizer)  # expect: AMP203 likely
        torch.nn.utils.clip_grad_norm_(self.net.parameters(), 1.0)
        if (number + 1) % self.window == 0:
            self.scaler.step(self.optimizer)
            self.scaler.update()
            self.optimizer.zero_grad()
