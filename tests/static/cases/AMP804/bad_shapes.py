"""Norms of one rank's part of the gradients."""

import torch
from torch import nn
from torch.distributed.fsdp import FullyShardedDataParallel as FSDP
from torch.distributed.fsdp import fully_shard


def of_local_tensors(net, batches):
    fully_shard(net)
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    for batch in batches:
        net(batch).mean().backward()
        parts = [torch.linalg.vector_norm(each.grad.to_local()) for each in net.parameters()]  # expect: AMP804
        print(torch.stack(parts).norm())
        opt.step()


def through_a_name(parameters):
    total = 0.0
    for each in parameters:
        part = each.grad.detach()._local_tensor
        total += part.pow(2).sum().item()  # expect: AMP804 likely
    return total**0.5


def read_on_the_host(net, batches, mesh):
    for layer in (net.body, net):
        fully_shard(layer, mesh=mesh)
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    for batch in batches:
        net(batch).mean().backward()
        total = 0.0
        for weight in net.parameters():
            total += weight.grad.norm().item() ** 2  # expect: AMP804
        print(total**0.5)
        opt.step()


def of_a_wrapped_model(net, batches):
    model = FSDP(net)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for batch in batches:
        model(batch).mean().backward()
        print(sum(weight.grad.norm() ** 2 for weight in model.parameters()))  # expect: AMP804
        opt.step()
