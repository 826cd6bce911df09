"""Two precisions lead to the plugin; one of them gets a scaler."""

import torch


class Mixed:
    def __init__(self, precision, device, scaler=None):
        self.precision = precision
        if scaler is None and self.precision == "16-mixed":
            scaler = torch.amp.GradScaler(device)
        self.scaler = scaler
        self.dtype = torch.bfloat16 if self.precision == "bf16-mixed" else torch.float16

    def context(self):
        return torch.autocast("cuda", dtype=self.dtype)

    def step(self, loss, optimizer):
        if self.scaler is not None:
            self.scaler.scale(loss).backward()
            self.scaler.step(optimizer)
            self.scaler.update()
        else:
            loss.backward()
            optimizer.step()


class Connector:
    def __init__(self, precision):
        self.precision = precision

    def choose(self):
        if self.precision in ("16-mixed", "bf16-mixed"):
            return Mixed(precision=self.precision, device="cuda")
        raise ValueError(self.precision)


def nested(model, batches, optimizer, dtype):
    half = {"bfloat16": torch.bfloat16, "float16": torch.float16}
    scaler = None
    if dtype != "float32":
        if dtype == "float16":
            scaler = torch.amp.GradScaler("cuda")
    for batch in batches:
        optimizer.zero_grad()
        with torch.autocast("cuda", dtype=half[dtype]):
            loss = model(batch)
        if scaler is not None:
            scaler.scale(loss).backward()
            scaler.step(optimizer)
            scaler.update()


def told_by_another_setting(model, batches, optimizer, dtype, folder):
    half = {"bfloat16": torch.bfloat16, "float16": torch.float16}
    scaler = None
    if folder != None:  # noqa: E711
        scaler = torch.amp.GradScaler("cuda", enabled=scales(dtype))
    for batch in batches:
        optimizer.zero_grad()
        with torch.autocast("cuda", dtype=half[dtype]):
            loss = model(batch)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
