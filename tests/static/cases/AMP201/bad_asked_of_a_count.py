import torch


class Trainer:
    """The answer is another one after the count has gone on: once, what is clipped was not unscaled."""

    def __init__(self, model, optimizer, loss_fn):
        self.model, self.optimizer, self.loss_fn = model, optimizer, loss_fn
        self.scaler = torch.amp.GradScaler("cuda")
        self.count = 0

    def is_warm(self, least):
        warm = self.count > least
        return warm

    def fit(self, batches):
        for inputs, targets in batches:
            self.optimizer.zero_grad(set_to_none=True)
            with torch.autocast("cuda", dtype=torch.float16):
                loss = self.loss_fn(self.model(inputs), targets)
            self.scaler.scale(loss).backward()
            if self.is_warm(100):
                self.scaler.unscale_(self.optimizer)
            self.count += 1
            if self.is_warm(100):
                torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)  # expect: AMP201
            self.scaler.step(self.optimizer)
            self.scaler.update()
