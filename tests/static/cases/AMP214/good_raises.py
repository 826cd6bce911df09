import torch


class Trainer:
    """The unscaling of each micro-batch is at fault here, and not the check, which raises."""

    def __init__(self, model, optimizer, loss_fn, window):
        self.model, self.optimizer, self.loss_fn = model, optimizer, loss_fn
        self.scaler = torch.amp.GradScaler("cuda")
        self.count, self.window = 0, window

    def backprop(self, loss):
        self.count += 1
        self.scaler.scale(loss).backward()
        self.scaler.unscale_(self.optimizer)
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        if self.count == self.window:
            self.scaler.step(self.optimizer)
            self.scaler.update()
            self.optimizer.zero_grad()
            self.count = 0

    def overfit(self, batch, turns):
        for _ in range(turns):
            with torch.autocast("cuda", dtype=torch.float16):
                loss = self.loss_fn(self.model(batch))
            self.backprop(loss)
            if torch.isnan(loss) or torch.isinf(loss):
                raise ValueError("the loss is NaN or inf")
