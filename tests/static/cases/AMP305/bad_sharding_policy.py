"""The sharded model computes in float16 by its policy, and nothing scales the loss."""

import torch
from torch import nn
from torch.distributed.fsdp import FullyShardedDataParallel, MixedPrecision

POLICY = MixedPrecision(param_dtype=torch.float16)  # expect: AMP305 likely


def sharded(net):
    return FullyShardedDataParallel(net, mixed_precision=POLICY)


def train(net, batches):
    model = sharded(net)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for inputs, targets in batches:
        error = nn.functional.mse_loss(model(inputs), targets)
        error.backward()
        optimizer.step()
        optimizer.zero_grad()
