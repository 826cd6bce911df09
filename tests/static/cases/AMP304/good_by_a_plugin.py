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
