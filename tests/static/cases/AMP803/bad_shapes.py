"""Gradients that are added up in half precision."""

import torch
from torch import nn
from torch.distributed.fsdp import FullyShardedDataParallel as FSDP
from torch.distributed.fsdp import MixedPrecision, MixedPrecisionPolicy, fully_shard
from torch.distributed.algorithms.ddp_comm_hooks import default as comm_hooks
from torch.distributed.algorithms.ddp_comm_hooks import default_hooks
from torch.distributed.algorithms.ddp_comm_hooks.default_hooks import fp16_compress_hook
from torch.nn.parallel import DistributedDataParallel


def said(net):
    policy = MixedPrecision(param_dtype=torch.bfloat16, reduce_dtype=torch.bfloat16)  # expect: AMP803
    return FSDP(net, mixed_precision=policy)


def left_out(net, mesh):
    options = {"mp_policy": MixedPrecisionPolicy(param_dtype=torch.bfloat16), "mesh": mesh}  # expect: AMP803
    for layer in net.children():
        fully_shard(layer, **options)
    fully_shard(net, **options)


def only_reduced(net, mesh):
    fully_shard(net, mesh=mesh, mp_policy=MixedPrecisionPolicy(reduce_dtype=torch.float16))  # expect: AMP803


def by_a_hook(net, batches):
    model = DistributedDataParallel(net)
    model.register_comm_hook(state=None, hook=fp16_compress_hook)  # expect: AMP803 likely
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    scaler = torch.amp.GradScaler("cuda")
    for batch in batches:
        with torch.autocast("cuda", dtype=torch.float16):
            loss = model(batch).mean()
        scaler.scale(loss).backward()
        scaler.step(opt)
        scaler.update()
        opt.zero_grad()


def hooked(model):
    model.register_comm_hook(None, comm_hooks.fp16_compress_hook)  # expect: AMP803 likely


def by_a_function(net, batches):
    model = DistributedDataParallel(net)
    hooked(model)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    scaler = torch.amp.GradScaler("cuda")
    for batch in batches:
        with torch.autocast("cuda", dtype=torch.float16):
            loss = model(batch).mean()
        scaler.scale(loss).backward()
        scaler.step(opt)
        scaler.update()
        opt.zero_grad()


def in_bfloat16(net, batches):
    model = DistributedDataParallel(net)
    model.register_comm_hook(None, default_hooks.bf16_compress_hook)  # expect: AMP803 likely
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    scaler = torch.amp.GradScaler("cuda")
    for batch in batches:
        with torch.autocast("cuda", dtype=torch.float16):
            loss = model(batch).mean()
        scaler.scale(loss).backward()
        scaler.step(opt)
        scaler.update()
        opt.zero_grad()


def without_a_scale(net, batches):
    model = DistributedDataParallel(net)
    model.register_comm_hook(None, default_hooks.fp16_compress_hook)  # expect: AMP803 likely
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for batch in batches:
        model(batch).mean().backward()
        opt.step()
        opt.zero_grad()
