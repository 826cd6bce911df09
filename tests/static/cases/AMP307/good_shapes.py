"""Sharded models with what asks all ranks, and models that are not sharded."""

import torch
from torch.distributed.fsdp import FullyShardedDataParallel, fully_shard
from torch.distributed.fsdp.sharded_grad_scaler import ShardedGradScaler
from torch.nn.parallel import DistributedDataParallel


def sharded(model, batches):
    model = FullyShardedDataParallel(model)
    optimizer = torch.optim.AdamW(model.parameters())
    scaler = ShardedGradScaler()
    for batch in batches:
        optimizer.zero_grad()
        scaler.scale(model(batch).mean()).backward()
        scaler.unscale_(optimizer)
        model.clip_grad_norm_(1.0)
        scaler.step(optimizer)
        scaler.update()


def chosen(model, batches, shard):
    if shard:
        model = FullyShardedDataParallel(model)
        scaler = ShardedGradScaler()
    else:
        model = DistributedDataParallel(model)
        scaler = torch.amp.GradScaler("cuda")
    optimizer = torch.optim.AdamW(model.parameters())
    for batch in batches:
        optimizer.zero_grad()
        scaler.scale(model(batch).mean()).backward()
        scaler.step(optimizer)
        scaler.update()


def in_bfloat16(model, batches):
    model = FullyShardedDataParallel(model)
    optimizer = torch.optim.AdamW(model.parameters())
    for batch in batches:
        optimizer.zero_grad()
        with torch.autocast("cuda", dtype=torch.bfloat16):
            loss = model(batch).mean()
        loss.backward()
        model.clip_grad_norm_(1.0)
        optimizer.step()


def of_dtensors(model, batches):
    fully_shard(model)
    optimizer = torch.optim.AdamW(model.parameters())
    for batch in batches:
        optimizer.zero_grad()
        model(batch).mean().backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()


class HandedOn:
    """What is clipped is another field than the one that is wrapped."""

    def set_up(self, teacher, student):
        teacher = FullyShardedDataParallel(teacher)
        return self.Models(teacher=teacher, student=student)

    def step(self, loss, models, optimizer):
        loss.backward()
        torch.nn.utils.clip_grad_norm_(models.student.parameters(), 1.0)
        optimizer.step()
