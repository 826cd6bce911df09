"""Norms that ranks put together, of DTensors as they are, and of models that are not sharded."""

import torch
from torch import nn
from torch.distributed.fsdp import FullyShardedDataParallel as FSDP
from torch.distributed.fsdp import ShardingStrategy, fully_shard
from torch import distributed as dist


def put_together(net, batches):
    fully_shard(net)
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    for batch in batches:
        net(batch).mean().backward()
        total = sum(each.grad.to_local().norm() ** 2 for each in net.parameters())
        dist.all_reduce(total)
        print(total.sqrt())
        opt.step()


def summed(parts):
    return torch.stack([each.grad.to_local().norm() ** 2 for each in parts]).sum()


def by_the_caller(net):
    total = summed(net.parameters())
    dist.all_reduce(total)
    return total.sqrt()


def whole(net, batches):
    fully_shard(net)
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    for batch in batches:
        net(batch).mean().backward()
        print(torch.nn.utils.get_total_norm([each.grad for each in net.parameters()]).full_tensor())
        opt.step()


def not_sharded(net, batches):
    model = FSDP(net, sharding_strategy=ShardingStrategy.NO_SHARD)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for batch in batches:
        model(batch).mean().backward()
        print(sum(weight.grad.norm() ** 2 for weight in model.parameters()))
        opt.step()


def of_another(net, other, batches):
    fully_shard(net)
    for batch in batches:
        (net(batch) - other(batch)).mean().backward()
        for weight in other.parameters():
            print(weight.grad.norm().item())


def of_activations(outputs):
    return outputs.to_local().norm()
