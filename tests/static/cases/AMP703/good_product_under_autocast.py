"""The same in float32: a region that is off, a product that autocast leaves alone, and no region at all."""

import torch
from torch import nn


class Off(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.register_buffer("inv_freq", 1.0 / (10000 ** (torch.arange(0, dim, 2).float() / dim)))

    def forward(self, x, position_ids):
        inverse = self.inv_freq[None, :, None].float().expand(position_ids.shape[0], -1, 1)
        with torch.autocast(device_type=x.device.type, enabled=False):
            angles = (inverse @ position_ids[:, None, :].float()).transpose(1, 2)
        return angles.cos().to(x.dtype)


class Outer(Off):
    def forward(self, x, position_ids):
        angles = torch.outer(position_ids.float(), self.inv_freq)
        more = torch.einsum("i,j->ij", position_ids.float(), self.inv_freq)
        return angles.cos() + more.sin()


class Double(Off):
    def forward(self, x, position_ids):
        angles = position_ids[:, None].double() @ self.inv_freq[None].double()
        return angles.cos().to(x.dtype)


def train(net, batches, optimizer, scaler):
    parts = nn.ModuleList([Off(8), Outer(8), Double(8)])
    off, outer, double = Off(8), Outer(8), Double(8)
    for x, ids in batches:
        with torch.autocast("cuda", dtype=torch.float16):
            loss = net(x, off(x, ids), outer(x, ids), double(x, ids)).mean()
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
    return parts


class Plain(Off):
    def forward(self, x, position_ids):
        return (position_ids[:, None].float() @ self.inv_freq[None]).cos()


def without_autocast(net, optimizer, batches):
    table = Plain(8)
    for x, ids in batches:
        net(x, table(x, ids)).mean().backward()
        optimizer.step()
