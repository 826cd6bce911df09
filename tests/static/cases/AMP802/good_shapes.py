"""Float32 weights, models that are not trained, and adapters over half weights."""

import torch
from torch import nn
from torch.distributed.fsdp import FullyShardedDataParallel as FSDP
from torch.distributed.fsdp import MixedPrecision, MixedPrecisionPolicy, fully_shard

POLICY = MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=torch.float32)


def net_of(size):
    return nn.Sequential(nn.Linear(size, size), nn.Linear(size, 1))


def master_weights(batches, mesh):
    net = net_of(8)
    fully_shard(net, mesh=mesh, mp_policy=POLICY)
    opt = torch.optim.AdamW(net.parameters(), lr=1e-4)
    for batch in batches:
        net(batch).mean().backward()
        opt.step()
        opt.zero_grad()


def reference_beside(batches, mesh):
    reference = net_of(8).to(torch.bfloat16)
    fully_shard(reference, mesh=mesh, mp_policy=POLICY)
    net = net_of(8)
    fully_shard(net, mesh=mesh, mp_policy=POLICY)
    opt = torch.optim.AdamW(net.parameters(), lr=1e-4)
    for batch in batches:
        (net(batch) - reference(batch)).mean().backward()
        opt.step()
        opt.zero_grad()


def made_float_before(batches):
    net = net_of(8).half()
    net.float()
    model = FSDP(net, mixed_precision=MixedPrecision(param_dtype=torch.float16))
    opt = torch.optim.SGD(model.parameters(), lr=1e-4)
    for batch in batches:
        model(batch).mean().backward()
        opt.step()
        opt.zero_grad()


def without_a_policy(batches):
    model = FSDP(net_of(8).bfloat16())
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for batch in batches:
        model(batch).mean().backward()
        opt.step()
        opt.zero_grad()
