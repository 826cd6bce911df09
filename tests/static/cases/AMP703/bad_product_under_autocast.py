"""Angles are a matrix product of positions and frequencies, which autocast computes in half."""

import lightning as L
import torch
from accelerate import Accelerator
from torch import nn


class Rotary(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.register_buffer("inv_freq", 1.0 / (10000 ** (torch.arange(0, dim, 2).float() / dim)))

    def forward(self, x, position_ids):
        inverse = self.inv_freq[None, :, None].float().expand(position_ids.shape[0], -1, 1)
        angles = (inverse @ position_ids[:, None, :].float()).transpose(1, 2)  # expect: AMP703 likely
        return angles.cos().to(x.dtype)


class Attends(nn.Module):
    def __init__(self):
        super().__init__()
        self.rotary = Rotary(64)
        self.head = nn.Linear(64, 8)

    def forward(self, x, ids):
        return self.head(x * self.rotary(x, ids))


def prepared(batches):
    accelerator = Accelerator(mixed_precision="bf16")
    net = Attends()
    model, optimizer = accelerator.prepare(net, torch.optim.AdamW(net.parameters(), lr=1e-4))
    for x, ids in batches:
        accelerator.backward(model(x, ids).mean())
        optimizer.step()
        optimizer.zero_grad()


class InTheStep(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = nn.Linear(64, 64)

    def table(self, length):
        frequencies = 1.0 / 10000 ** (torch.arange(0, 64, 2, device=self.device) / 64)
        positions = torch.arange(length, device=self.device).float()
        angles = torch.matmul(positions[:, None], frequencies[None, :])  # expect: AMP703 likely
        return torch.cat([angles.sin(), angles.cos()], -1)

    def training_step(self, batch, batch_idx):
        return (self.net(batch) + self.table(batch.size(1))).mean()


def main(loader):
    L.Trainer(precision="16-mixed").fit(InTheStep(), loader)


class Embeds(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.register_buffer("frequencies", torch.exp(-torch.arange(0, size) / size))

    def forward(self, steps):
        angles = steps[:, None].mm(self.frequencies[None])  # expect: AMP703 likely
        return torch.cat([torch.sin(angles), torch.cos(angles)], 1)


def in_a_region(net, optimizer, batches, scaler):
    embed = Embeds(32)
    for x, steps in batches:
        with torch.autocast("cuda", dtype=torch.float16):
            loss = net(x, embed(steps)).mean()
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
