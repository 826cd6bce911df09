"""The policy is None where the weights are bfloat16: it is made for another word of the setting."""

import torch
from torch.distributed.fsdp import FullyShardedDataParallel, MixedPrecision


def shard(net, options):
    policy = None
    if options["precision"] == "bf16":
        kept = torch.bfloat16
    elif options["precision"] == "bf16_buffers":
        policy = MixedPrecision(param_dtype=torch.bfloat16, reduce_dtype=torch.float32)
    if options["precision"] == "bf16":
        net = net.to(kept)
    net = FullyShardedDataParallel(net, mixed_precision=policy)
    return net, torch.optim.SGD(net.parameters(), lr=0.1)


def by_a_word(net, word):
    policy = MixedPrecision(param_dtype=torch.bfloat16, reduce_dtype=torch.float32) if word == "mixed" else None
    if word == "pure":
        net.bfloat16()
    net = FullyShardedDataParallel(net, mixed_precision=policy)
    return net, torch.optim.SGD(net.parameters(), lr=0.1)
