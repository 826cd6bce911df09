import torch


class Engine:
    def __init__(self, model, optimizer, scaler, options):
        self.model, self.optimizer, self.scaler = model, optimizer, scaler
        self.mixed_precision = options.mixed_precision

    def step(self, batch):
        self.optimizer.zero_grad()
        with torch.autocast("cuda", dtype=torch.float16, enabled=self.mixed_precision):
            loss = self.model(batch).mean()
        self.scaler.scale(loss).backward()
        self.scaler.step(self.optimizer)
        self.scaler.update()
