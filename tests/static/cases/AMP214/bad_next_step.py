"""A step that something out of sight calls for every batch: what the skip leaves open is met by the next call."""

import torch


class Model:
    def __init__(self, net):
        self.net = net
        self.optimizer = torch.optim.Adam(net.parameters())
        self.scaler = torch.amp.GradScaler("cuda")

    def optimize_parameters(self, batch, limit):
        self.optimizer.zero_grad()
        with torch.autocast("cuda"):
            loss = self.net(batch).mean()
        self.scaler.scale(loss).backward()
        self.scaler.unscale_(self.optimizer)
        norm = torch.nn.utils.clip_grad_norm_(self.net.parameters(), 1.0)
        if norm < limit:  # expect: AMP214 likely
            self.scaler.step(self.optimizer)
            self.scaler.update()
