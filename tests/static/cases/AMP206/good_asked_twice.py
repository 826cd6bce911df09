import enum

import torch


class Precision(enum.Enum):
    FULL = "fp32"
    HALF = "amp_fp16"


class Trainer:
    """Two methods ask a third one, which only compares, whether the scaler is in use."""

    def __init__(self, model, optimizer, loss_fn, precision):
        self.model, self.optimizer, self.loss_fn = model, optimizer, loss_fn
        self.precision = precision
        self.scaler = torch.amp.GradScaler("cuda")

    def scales(self, precision, scaler):
        """Whether gradients are scaled."""
        print("asked for", precision)
        precision = Precision(precision)
        half = precision == Precision.HALF
        if half and not scaler.is_enabled():
            raise RuntimeError(f"{precision} needs a scaler")
        return half

    def is_clipped(self):
        return self.precision is Precision.HALF

    def fit(self, batches):
        scales = self.scales(self.precision, self.scaler)
        for inputs, targets in batches:
            self.optimizer.zero_grad(set_to_none=True)
            self.run(inputs, targets)
            if self.is_clipped():
                torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
            if scales:
                self.scaler.step(self.optimizer)
            else:
                self.optimizer.step()
            if self.scales(self.precision, self.scaler):
                self.scaler.update()

    def run(self, inputs, targets):
        scales = self.scales(self.precision, self.scaler)
        with torch.autocast("cuda", dtype=torch.float16, enabled=scales):
            loss = self.loss_fn(self.model(inputs), targets)
        if scales:
            loss = self.scaler.scale(loss)
        loss.backward()
        if self.is_clipped() and self.scales(self.precision, self.scaler):
            self.scaler.unscale_(self.optimizer)
