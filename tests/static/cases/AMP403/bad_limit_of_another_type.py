"""The limits of float32 and float64 do not fit float16."""

import torch
from torch import nn

LOWEST = torch.finfo(torch.float32).min


def train(net, optimizer, scaler, batches):
    for inputs, mask in batches:
        with torch.autocast("cuda", dtype=torch.float16):
            hidden = nn.functional.linear(inputs, net.weight)
            scores = hidden @ hidden.t()
            one = scores.masked_fill(mask, LOWEST)  # expect: AMP403
            two = scores.masked_fill(mask, -torch.finfo(torch.float64).max)  # expect: AMP403
            three = scores.clamp(min=torch.finfo().min)  # expect: AMP403
            loss = (one + two + three).softmax(-1).mean()
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
