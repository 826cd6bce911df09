"""What is sharded is not what the loop is given."""

import torch
from loops import Loop
from torch.distributed.fsdp import FullyShardedDataParallel
from torch.distributed.fsdp.sharded_grad_scaler import ShardedGradScaler

LOOPS = {"plain": ("the usual one", Loop)}


def sharded(net, shard):
    return net


def main(args, net, batches):
    title, kind = LOOPS[args.loop]
    net = sharded(net, args.shard)
    loop = kind(net)
    other = FullyShardedDataParallel(net.teacher)
    loop.run(batches, torch.optim.SGD(net.parameters(), lr=0.1), ShardedGradScaler())
    print(title, other)
