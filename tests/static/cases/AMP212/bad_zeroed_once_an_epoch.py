import torch


class Trainer:
    """Windows follow each other in an epoch, and only its first one begins with no gradients."""

    def __init__(self, model, optimizer, batches, window):
        self.model, self.optimizer, self.batches, self.window = model, optimizer, batches, window
        self.scaler = torch.amp.GradScaler("cuda")

    def run(self):
        for _ in range(3):
            self.optimizer.zero_grad()
            for number, (inputs, targets) in enumerate(self.batches):
                with torch.autocast("cuda", dtype=torch.float16):
                    loss = torch.nn.functional.mse_loss(self.model(inputs), targets)
                self.learn(loss, number)

    def learn(self, loss, number):
        self.scaler.scale(loss / self.window).backward()  # expect: AMP212
        if (number + 1) % self.window == 0:
            self.scaler.step(self.optimizer)
            self.scaler.update()
