import torch


class Trainer:
    def __init__(self, model, decoder, optimizer):
        self.model, self.decoder, self.optimizer = model, decoder, optimizer
        self.scaler = torch.amp.GradScaler("cuda")

    def encode(self, inputs):
        with torch.autocast("cuda"):
            self.features = self.model(inputs)

    def step(self, inputs, targets):
        self.encode(inputs)
        with torch.autocast("cuda", enabled=False):
            loss = ((self.decoder(self.features.float()) - targets) ** 2).mean()
        self.scaler.scale(loss).backward()
        self.scaler.step(self.optimizer)
        self.scaler.update()
        self.optimizer.zero_grad()
