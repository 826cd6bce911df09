"""Scalers that are on for bfloat16."""

import torch
from torch.cuda.amp import GradScaler, autocast


def always(model, optimizer, batches):
    scaler = GradScaler()  # expect: AMP304
    for batch in batches:
        with torch.autocast("cuda", dtype=torch.bfloat16):
            loss = model(batch)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad()


def inverted(model, optimizer, batches, config):
    types = {"float16": torch.float16, "bfloat16": torch.bfloat16, "float32": torch.float32}
    scaler = GradScaler(enabled=(config.dtype == "bfloat16"))  # expect: AMP304
    for batch in batches:
        with torch.autocast("cuda", dtype=types[config.dtype]):
            loss = model(batch)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad()


def by_the_flag(model, optimizer, batches, config):
    scaler = GradScaler(enabled=config.bf16_run)  # expect: AMP304
    for batch in batches:
        with autocast(enabled=config.bf16_run, dtype=torch.bfloat16):
            loss = model(batch)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad()


def chosen(model, optimizer, batches, args):
    dtype = torch.float16
    if args.bf16:
        dtype = torch.bfloat16
    scaler = GradScaler()  # expect: AMP304 likely
    for batch in batches:
        with torch.autocast("cuda", dtype=dtype):
            loss = model(batch)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad()


def options(args):
    return {"device_type": "cuda", "enabled": args.amp, "dtype": torch.bfloat16}


def spread(model, optimizer, batches, args):
    scaler = torch.amp.GradScaler("cuda", enabled=args.amp)  # expect: AMP304
    for batch in batches:
        with torch.autocast(**options(args)):
            loss = model(batch)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad()


def one_switch_for_two_dtypes(model, optimizer, batches, config):
    half = torch.bfloat16 if config.half_type == "bf16" else torch.float16
    scaler = GradScaler(enabled=config.fp16_run)  # expect: AMP304 likely
    for batch in batches:
        with autocast(enabled=config.fp16_run, dtype=half):
            loss = model(batch)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad()


def the_switch_under_a_name(model, optimizer, batches, args):
    mixed = args.mixed_precision is not None
    scaler = torch.amp.GradScaler("cuda", enabled=mixed)  # expect: AMP304 likely
    half = {"float16": torch.float16, "bfloat16": torch.bfloat16, None: torch.float32}[args.mixed_precision]
    for batch in batches:
        with torch.autocast("cuda", enabled=args.mixed_precision is not None, dtype=half):
            loss = model(batch)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad()


class Base:
    def prepare(self, config):
        self.config = config
        self.scaler = torch.amp.GradScaler("cuda", enabled=self.mixed)  # expect: AMP304 likely

    @property
    def mixed(self):
        return self.config.amp != "fp32"

    @property
    def half(self):
        if self.config.amp == "bf16":
            return torch.bfloat16
        return torch.float16


class Classifier(Base):
    """The region whose losses it scales is in the class that derives from the scaler's."""

    def step(self, batch):
        with torch.autocast("cuda", dtype=self.half, enabled=self.mixed):
            loss = self.network(batch)
        self.scaler.scale(loss).backward()
        self.scaler.step(self.optimizer)
        self.scaler.update()
