"""What holds a sharded model clips in a way of its own; the class above clips what is not sharded."""

import torch
from torch.distributed.fsdp import FullyShardedDataParallel
from torch.nn.parallel import DistributedDataParallel
from torch.nn.utils import clip_grad_norm_


class Held:
    def __init__(self, model: torch.nn.Module):
        self.model = model

    def clip_grad_norm_(self, limit):
        return clip_grad_norm_(self.model.parameters(), limit)


class HeldInParts(Held):
    def clip_grad_norm_(self, limit):
        return self.model.clip_grad_norm_(limit)


def hold(net):
    return Held(DistributedDataParallel(net))


def hold_in_parts(net):
    sharded = FullyShardedDataParallel(net)
    return HeldInParts(sharded)
