"""Gradients that are added up in float32, or in what nothing here tells."""

import torch
from torch import nn
from torch.distributed.fsdp import FullyShardedDataParallel as FSDP
from torch.distributed.fsdp import MixedPrecision, MixedPrecisionPolicy, fully_shard


def said(net):
    policy = MixedPrecision(param_dtype=torch.bfloat16, reduce_dtype=torch.float32)
    return FSDP(net, mixed_precision=policy)


def float32(net, mesh):
    fully_shard(net, mesh=mesh, mp_policy=MixedPrecisionPolicy())


def from_a_setting(net, dtype):
    return FSDP(net, mixed_precision=MixedPrecision(param_dtype=dtype))
