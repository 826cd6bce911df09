"""The optimizer that steps is the other one of the list."""

import torch
from torch import nn


def main(batches):
    net_g, net_d = nn.Linear(8, 8), nn.Linear(8, 1)
    net_g.half()
    optimizer_g = torch.optim.Adam(net_g.parameters())
    optimizer_d = torch.optim.Adam(net_d.parameters())
    scaler = torch.amp.GradScaler("cuda")
    epoch([net_g, net_d], [optimizer_g, optimizer_d], scaler, batches)


def epoch(nets, optimizers, scaler, batches):
    net_g, net_d = nets
    optimizer_g, optimizer_d = optimizers
    for batch in batches:
        with torch.autocast("cuda"):
            loss = net_d(net_g(batch).detach()).mean()
        optimizer_d.zero_grad()
        scaler.scale(loss).backward()
        scaler.step(optimizer_d)
        scaler.update()
