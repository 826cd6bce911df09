"""The file has a sharded scaler, for another model than the one of this function."""

import torch
from torch.distributed.fsdp import FullyShardedDataParallel
from torch.distributed.fsdp.sharded_grad_scaler import ShardedGradScaler


def large(net, batches):
    model = FullyShardedDataParallel(net)
    optimizer = torch.optim.AdamW(model.parameters())
    one_epoch(model, optimizer, ShardedGradScaler(), batches)


def small(net, batches):
    model = FullyShardedDataParallel(net)
    optimizer = torch.optim.AdamW(model.parameters())
    scaler = torch.amp.GradScaler("cuda")  # expect: AMP307
    one_epoch(model, optimizer, scaler, batches)


def one_epoch(model, optimizer, scaler, batches):
    for batch in batches:
        with torch.autocast("cuda", dtype=torch.float16):
            loss = model(batch).mean()
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad()
