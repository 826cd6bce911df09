"""Models and optimizers are handed on in lists."""

import torch
from torch import nn


def main(batches):
    net_g, net_d = nn.Linear(8, 8), nn.Linear(8, 1)
    net_g.half()  # expect: AMP401
    optimizer_g = torch.optim.Adam(net_g.parameters())
    optimizer_d = torch.optim.Adam(net_d.parameters())
    scaler = torch.amp.GradScaler("cuda")
    for _ in range(9):
        epoch([net_g, net_d], [optimizer_g, optimizer_d], scaler, batches)


def epoch(nets, optimizers, scaler, batches):
    net_g, net_d = nets
    optimizer_g, optimizer_d = optimizers
    for batch in batches:
        with torch.autocast("cuda"):
            fake = net_g(batch)
            loss = net_d(fake).mean()
        optimizer_g.zero_grad()
        scaler.scale(loss).backward()
        scaler.step(optimizer_g)
        scaler.update()
