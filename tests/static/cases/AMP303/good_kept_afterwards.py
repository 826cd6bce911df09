import torch


class Trainer:
    def __init__(self, model, optimizer, loss_fn, amp=True):
        self.model, self.optimizer, self.loss_fn = model, optimizer, loss_fn
        self.scaler = torch.amp.GradScaler("cuda", enabled=amp)
        self.amp = amp

    def run(self, batches):
        for inputs, targets in batches:
            self.optimizer.zero_grad(set_to_none=True)
            with torch.autocast("cuda", enabled=self.amp):
                loss = self.loss_fn(self.model(inputs), targets)
            self.scaler.scale(loss).backward()
            self.scaler.step(self.optimizer)
            self.scaler.update()
