import torch


class Trainer:
    def iteration(self, inputs, targets):
        for part, target in zip(inputs.chunk(self.window), targets.chunk(self.window)):
            with torch.autocast("cuda", dtype=torch.float16):
                loss = self.loss_fn(self.model(part), target) / self.window
            self.scaler.scale(loss).backward()
        self.scaler.step(self.optimizer)
        self.scaler.update()
        self.optimizer.zero_grad()

    def views(self, inputs, targets):
        """A step for each part."""
        for part, target in zip(inputs.chunk(2), targets.chunk(2)):
            with torch.autocast("cuda", dtype=torch.float16):
                loss = self.loss_fn(self.model(part), target)
            self.scaler.scale(loss).backward()
            self.scaler.step(self.optimizer)
            self.scaler.update()
            self.optimizer.zero_grad()
