import torch


class Trainer:
    """A checkpoint may bring another dtype: the condition around that asks for what it binds."""

    def __init__(self, model, optimizer, precision="fp32"):
        self.model, self.optimizer = model, optimizer
        if precision == "fp16":
            self.dtype = torch.float16
        else:
            self.dtype = torch.float32
        self.scaler = torch.amp.GradScaler("cuda", enabled=self.dtype == torch.float16)

    def resume(self, saved):
        self.scaler.load_state_dict(saved["scaler"])
        if self.dtype != saved["dtype"]:
            self.dtype = saved["dtype"]

    def fit(self, batches):
        for inputs, targets in batches:
            self.optimizer.zero_grad()
            with torch.autocast("cuda", dtype=self.dtype):
                loss = torch.nn.functional.mse_loss(self.model(inputs), targets)
            self.scaler.scale(loss).backward()
            self.scaler.step(self.optimizer)
            self.scaler.update()
