import torch

DTYPES = {"16": torch.float16, "bf16": torch.bfloat16}


class Precision:
    """Holds the scaler, enters no region itself, and runs the backward of those that do."""

    def __init__(self, name):
        self.dtype = DTYPES.get(name)
        self.scaler = torch.amp.GradScaler("cuda", enabled=self.dtype is torch.float16)

    def region(self):
        return torch.autocast("cuda", dtype=self.dtype, enabled=self.dtype is torch.float16)

    def backward(self, loss):
        self.scaler.scale(loss).backward()

    def step(self, optimizer):
        self.scaler.step(optimizer)
        self.scaler.update()


def train(model, loss_fn, optimizer, batches, name):
    precision = Precision(name)
    for inputs, targets in batches:
        with precision.region():
            loss = loss_fn(model(inputs), targets)
        optimizer.zero_grad()
        precision.backward(loss)
        precision.step(optimizer)
