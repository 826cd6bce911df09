"""The annotation says no more than that it is a model; the call says that it is sharded."""

import torch
from torch.distributed.fsdp import FullyShardedDataParallel
from torch.nn.utils import clip_grad_norm_


class Held:
    def __init__(self, model: torch.nn.Module):
        self.model = model

    def clip(self, limit):
        return clip_grad_norm_(self.model.parameters(), limit)  # expect: AMP307 likely


class HeldInParts(Held):
    def gather(self):
        return self.model.state_dict()


def hold_in_parts(net):
    sharded = FullyShardedDataParallel(net)
    return HeldInParts(sharded)
