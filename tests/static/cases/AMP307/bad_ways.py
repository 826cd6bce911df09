"""Other ways to wrap a model, and other ways to hand its parameters to torch's clip."""

import torch
from torch.distributed.fsdp import FullyShardedDataParallel as FSDP
from torch.distributed.fsdp import ShardingStrategy
from torch.nn.utils import clip_grad_norm_


def a_list_of_them(net, batches):
    model = FSDP(net, sharding_strategy=ShardingStrategy.SHARD_GRAD_OP)
    optimizer = torch.optim.AdamW(model.parameters())
    trained = [parameter for parameter in model.parameters() if parameter.requires_grad]
    for batch in batches:
        optimizer.zero_grad()
        model(batch).mean().backward()
        clip_grad_norm_(trained, 1.0)  # expect: AMP307
        optimizer.step()


def by_keyword(net, batches, strategy):
    model = FSDP(net, sharding_strategy=strategy)
    optimizer = torch.optim.AdamW(model.parameters())
    for batch in batches:
        optimizer.zero_grad()
        model(batch).mean().backward()
        clip_grad_norm_(parameters=model.parameters(), max_norm=1.0)  # expect: AMP307 likely
        optimizer.step()


class Wrapped(FSDP):
    def save(self, path):
        torch.save(self.state_dict(), path)


def of_a_class_of_its_own(net, batches):
    model = Wrapped(net)
    optimizer = torch.optim.AdamW(model.parameters())
    scaler = torch.amp.GradScaler("cuda")  # expect: AMP307
    for batch in batches:
        optimizer.zero_grad()
        scaler.scale(model(batch).mean()).backward()
        scaler.unscale_(optimizer)
        clip_grad_norm_(model.parameters(), 1.0)  # expect: AMP307
        scaler.step(optimizer)
        scaler.update()


class Trainer:
    def __init__(self, policy, optimizer):
        self.policy = policy
        self.policy.body = FSDP(self.policy.body)
        self.policy.head = FSDP(self.policy.head)
        self.optimizer = optimizer

    def clip(self):
        clip_grad_norm_(self.policy.body.parameters(), 1.0)  # expect: AMP307 likely


class TwoPartTrainer(Trainer):
    def clip(self):
        clip_grad_norm_(self.policy.body.parameters(), 1.0)  # expect: AMP307 likely
        clip_grad_norm_(self.policy.head.parameters(), 0.1)  # expect: AMP307 likely


def both_where_asked_for(net, batches, settings):
    scaler = None
    model = FSDP(net) if settings.shard else net
    if settings.shard and settings.half:
        scaler = torch.amp.GradScaler("cuda")  # expect: AMP307 likely
    optimizer = torch.optim.AdamW(model.parameters())
    for batch in batches:
        optimizer.zero_grad()
        loss = model(batch).mean()
        if scaler is None:
            loss.backward()
            optimizer.step()
        else:
            scaler.scale(loss).backward()
            scaler.step(optimizer)
            scaler.update()


def the_other_models_own_clip(actor, critic, batches):
    actor, critic = FSDP(actor), FSDP(critic)
    optimizer = torch.optim.AdamW([*actor.parameters(), *critic.parameters()])
    for batch in batches:
        optimizer.zero_grad()
        critic(actor(batch)).mean().backward()
        actor.clip_grad_norm_(1.0)
        clip_grad_norm_(critic.parameters(), 1.0)  # expect: AMP307 likely
        optimizer.step()


class HandedOn:
    def set_up(self, generator):
        if self.config.shard:
            generator = FSDP(generator, **self.options)
        return self.Models(generator=generator, previewer=None)

    def step(self, loss, models, optimizer):
        loss.backward()
        clip_grad_norm_(models.generator.parameters(), 1.0)  # expect: AMP307 likely
        optimizer.step()
        optimizer.zero_grad()
