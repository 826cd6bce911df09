"""Sharded models beside what knows nothing of shards."""

import torch
from torch.cuda.amp import GradScaler
from torch.distributed.fsdp import FullyShardedDataParallel as FSDP


def in_one_function(model, batches):
    model = FSDP(model)
    optimizer = torch.optim.AdamW(model.parameters())
    scaler = GradScaler()  # expect: AMP307
    for batch in batches:
        optimizer.zero_grad()
        with torch.autocast("cuda", dtype=torch.float16):
            loss = model(batch).mean()
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)  # expect: AMP307 likely
        scaler.step(optimizer)
        scaler.update()


class Trainer:
    def __init__(self, net, half):
        self.model = torch.distributed.fsdp.FullyShardedDataParallel(net)
        self.optimizer = torch.optim.AdamW(self.model.parameters())
        self.scaler = torch.amp.GradScaler("cuda", enabled=half)  # expect: AMP307 likely

    def step(self, batch):
        self.optimizer.zero_grad()
        self.scaler.scale(self.model(batch).mean()).backward()
        self.scaler.unscale_(self.optimizer)
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)  # expect: AMP307
        self.scaler.step(self.optimizer)
        self.scaler.update()
