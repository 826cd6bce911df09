"""The epsilon is one that float16 has."""

import torch
from torch import nn


def network(kind):
    return nn.Linear(4, 4).to(kind)


def train(batches):
    net = network(torch.float16)
    optimizer = torch.optim.RMSprop(net.parameters(), lr=1e-3, eps=1e-4)
    for batch in batches:
        optimizer.zero_grad()
        with torch.autocast("cuda", dtype=torch.bfloat16):
            loss = net(batch).float().mean()
        loss.backward()
        optimizer.step()
