"""A function builds a scaler for either dtype: the one for bfloat16, CUDA only, is not the one that float16 gets."""

import torch


def pick_device():
    if torch.cuda.is_available():
        return torch.device("cuda")
    return torch.device("mps" if torch.backends.mps.is_available() else "cpu")


class Trainer:
    def __init__(self, options, model):
        self.options = options
        self.model = model
        self.device = pick_device()
        self.optimizer = torch.optim.Adam(model.parameters())
        self.scaler = self.build_scaler()

    def build_scaler(self):
        if self.options.precision == "fp16":
            return torch.amp.GradScaler(self.device.type)
        if self.options.precision == "bf16":
            supported = self.device.type == "cuda" and torch.cuda.is_bf16_supported()
            return torch.amp.GradScaler(self.device.type, enabled=supported)
        return None

    def dtype(self):
        if self.options.precision == "bf16":
            return torch.bfloat16
        return torch.float16

    def step(self, inputs, targets):
        self.optimizer.zero_grad()
        with torch.autocast(self.device.type, dtype=self.dtype(), enabled=self.scaler is not None):
            loss = torch.nn.functional.mse_loss(self.model(inputs), targets)
        if self.scaler is None:
            loss.backward()
            self.optimizer.step()
        else:
            self.scaler.scale(loss).backward()
            self.scaler.step(self.optimizer)
            self.scaler.update()
