import torch


class Trainer:
    def __init__(self, optimizer):
        self.optimizer = optimizer
        self.kind = torch.amp.GradScaler

    def train(self, model, batches):
        for _ in range(3):
            scaler = self.kind()  # expect: AMP301
            for batch in batches:
                self.optimizer.zero_grad()
                scaler.scale(model(batch).mean()).backward()
                scaler.step(self.optimizer)
                scaler.update()
