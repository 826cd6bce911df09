"""A plain scaler or torch's clip that no run has together with a sharded model."""

import torch
from torch.distributed.fsdp import FullyShardedDataParallel as FSDP
from torch.distributed.fsdp import ShardingStrategy
from torch.nn.parallel import DistributedDataParallel
from torch.nn.utils import clip_grad_norm_


def every_rank_holds_all(net, batches):
    model = FSDP(net, sharding_strategy=ShardingStrategy.NO_SHARD)
    optimizer = torch.optim.AdamW(model.parameters())
    scaler = torch.amp.GradScaler("cuda")
    for batch in batches:
        optimizer.zero_grad()
        scaler.scale(model(batch).mean()).backward()
        scaler.unscale_(optimizer)
        clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()


def in_the_other_arm(net, batches, settings):
    if settings.shard:
        model = FSDP(net)
    else:
        model = DistributedDataParallel(net)
    scaler = None
    if not settings.shard:
        scaler = torch.amp.GradScaler("cuda")
    optimizer = torch.optim.AdamW(model.parameters())
    for batch in batches:
        optimizer.zero_grad()
        loss = model(batch).mean()
        if scaler is None:
            loss.backward()
            model.clip_grad_norm_(1.0)
            optimizer.step()
        else:
            scaler.scale(loss).backward()
            scaler.unscale_(optimizer)
            clip_grad_norm_(model.parameters(), 1.0)
            scaler.step(optimizer)
            scaler.update()


def asserted(net, batches, settings):
    model = FSDP(net) if settings.shard else net
    scaler = None
    if settings.precision == "half":
        assert not settings.shard, "half precision is for one device"
        scaler = torch.amp.GradScaler("cuda")
    return model, scaler, batches


def refused(net, batches, settings):
    if settings.shard:
        return FSDP(net), None, batches
    return net, torch.amp.GradScaler("cuda"), batches


def own_clip_if_it_has_one(net, batches):
    model = FSDP(net)
    optimizer = torch.optim.AdamW(model.parameters())
    for batch in batches:
        optimizer.zero_grad()
        model(batch).mean().backward()
        if hasattr(model, "clip_grad_norm_"):
            model.clip_grad_norm_(1.0)
        else:
            clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()


def looked_up(net, batches):
    model = FSDP(net)
    optimizer = torch.optim.AdamW(model.parameters())
    own = getattr(model, "clip_grad_norm_", None)
    for batch in batches:
        optimizer.zero_grad()
        model(batch).mean().backward()
        if own is not None:
            own(1.0)
        else:
            clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()


def by_the_class(net, batches):
    model = FSDP(net)
    optimizer = torch.optim.AdamW(model.parameters())
    for batch in batches:
        optimizer.zero_grad()
        model(batch).mean().backward()
        try:
            FSDP.clip_grad_norm_(model, 1.0)
        except AttributeError:
            clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()


def not_for_that_class(net, batches, shard):
    model = FSDP(net) if shard else net
    optimizer = torch.optim.AdamW(model.parameters())
    for batch in batches:
        optimizer.zero_grad()
        model(batch).mean().backward()
        if not isinstance(model, FSDP):
            clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()


class OneDeviceTrainer:
    def __init__(self, policy, optimizer):
        self.policy = policy
        self.optimizer = optimizer

    def clip(self):
        return clip_grad_norm_(self.policy.parameters(), 1.0)


class ShardedTrainer(OneDeviceTrainer):
    def __init__(self, policy, optimizer):
        self.policy = FSDP(policy)
        self.optimizer = optimizer

    def clip(self):
        return self.policy.clip_grad_norm_(1.0)


def make_fsdp2_scaler():
    return torch.amp.GradScaler("cuda")


def of_one_version_or_the_other(net, batches, settings):
    scaler = None
    if settings.old_wrapper:
        net = FSDP(net)
    if settings.fsdp_version == 2:
        scaler = torch.amp.GradScaler("cuda")
    elif settings.half:
        scaler = make_fsdp2_scaler()
    return net, scaler, batches
