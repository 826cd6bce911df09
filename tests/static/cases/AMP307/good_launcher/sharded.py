import torch
from network import Network, batches
from torch.distributed.fsdp import FullyShardedDataParallel


def train_sharded(settings):
    model = FullyShardedDataParallel(Network())
    optimizer = torch.optim.AdamW(model.parameters())
    for batch in batches(settings):
        optimizer.zero_grad()
        model(batch).mean().backward()
        model.clip_grad_norm_(1.0)
        optimizer.step()
