import torch


class Trainer:
    def iteration(self, inputs, targets):
        for part, target in zip(inputs.chunk(self.window), targets.chunk(self.window)):
            with torch.autocast("cuda", dtype=torch.float16):
                loss = self.loss_fn(self.model(part), target)
            self.scaler.scale(loss).backward()  # expect: AMP216 likely
        self.scaler.step(self.optimizer)
        self.scaler.update()
        self.optimizer.zero_grad()
