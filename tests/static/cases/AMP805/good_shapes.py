"""Optimizers that are built after, or over what stays."""

import torch
from torch import nn
from torch.distributed.fsdp import FullyShardedDataParallel as FSDP
from torch.distributed.fsdp import fully_shard


def after(net, batches):
    fully_shard(net)
    opt = torch.optim.AdamW(net.parameters(), lr=0.1)
    for batch in batches:
        net(batch).mean().backward()
        opt.step()


def built_again(net):
    opt = torch.optim.AdamW(net.parameters(), lr=0.1)
    fully_shard(net)
    opt = torch.optim.AdamW(net.parameters(), lr=0.1)
    return opt


def one_or_the_other(net, shard):
    if not shard:
        return net, torch.optim.SGD(net.parameters(), lr=0.1)
    fully_shard(net)
    return net, torch.optim.SGD(net.parameters(), lr=0.1)


def of_another(net, critic):
    opt = torch.optim.SGD(critic.parameters(), lr=0.1)
    fully_shard(net)
    return opt


def keeps_the_parameters(net):
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    return FSDP(net, use_orig_params=True), opt


def gives_them_anew(net):
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    fully_shard(net)
    opt.param_groups[0]["params"] = list(net.parameters())
    return opt
