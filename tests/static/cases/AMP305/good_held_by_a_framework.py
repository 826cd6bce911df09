"""The step of each loss is held by something that scales: what the optimizer is, or the class of the method, says so."""

import deepspeed
import lightning
import torch
from accelerate import Accelerator
from apex import amp
from precision import scaled_backward


def prepared(model, batches):
    plugin = Accelerator(mixed_precision="fp16")
    updates = torch.optim.AdamW(model.parameters())
    model, updates = plugin.prepare(model, updates)
    for batch in batches:
        with torch.autocast("cuda", dtype=torch.float16):
            loss = model(batch).mean()
        loss.backward()
        updates.step()
        updates.zero_grad()


class Kept:
    def __init__(self, model):
        self.model, self.optimizer = Accelerator().prepare(model, torch.optim.AdamW(model.parameters()))

    def fit(self, batches):
        for batch in batches:
            with torch.autocast("cuda", dtype=torch.float16):
                loss = self.model(batch).mean()
            loss.backward()
            self.optimizer.step()


def handed_in(model, batches):
    model, optimizer, _, _ = deepspeed.initialize(model=model)
    one_epoch(model, optimizer, batches)


def one_epoch(model, optimizer, batches):
    for batch in batches:
        with torch.autocast("cuda", dtype=torch.float16):
            loss = model(batch).mean()
        loss.backward()
        optimizer.step()


class Task(lightning.LightningModule):
    def training_step(self, batch):
        optimizer = self.optimizers()
        with torch.autocast("cuda", dtype=torch.float16):
            loss = self.net(batch).mean()
        loss.backward()
        optimizer.step()


def by_apex(model, optimizer, batches):
    for batch in batches:
        with torch.autocast("cuda", dtype=torch.float16):
            loss = model(batch).mean()
        with amp.scale_loss(loss, optimizer) as loss:
            loss.backward()
        optimizer.step()


def by_a_callable(model, optimizer, batches, stepper=None):
    """What the loss is given to instead is not in sight: nothing is said of it, but that it was not followed."""
    for batch in batches:
        with torch.autocast("cuda", dtype=torch.float16):
            loss = model(batch).mean()
        if stepper is not None:
            stepper(loss, optimizer, parameters=model.parameters())
        else:
            loss.backward()
            optimizer.step()


def by_a_function_elsewhere(model, optimizer, batches):
    for batch in batches:
        with torch.autocast("cuda", dtype=torch.float16):
            loss = model(batch).mean()
        loss = scaled_backward(loss)
        loss.backward()
        optimizer.step()


def with_a_fixed_factor(model, optimizer, batches):
    for batch in batches:
        with torch.autocast("cuda", dtype=torch.float16):
            loss = model(batch).mean() * 1024.0
        loss.backward()
        torch._foreach_div_([p.grad for p in model.parameters()], 1024.0)
        optimizer.step()
