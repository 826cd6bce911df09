"""bfloat16 only where nothing is differentiated."""

import torch


class Engine:
    def __init__(self, model, optimizer):
        self.model, self.optimizer = model, optimizer
        self.scaler = torch.amp.GradScaler()

    def forward_train(self, batch):
        with torch.autocast("cuda", dtype=torch.float16):
            return self.model(batch)

    def forward_eval(self, batch):
        with torch.autocast("cuda", dtype=torch.bfloat16):
            return self.model(batch)

    def backward(self, loss):
        self.scaler.scale(loss).backward()

    def step(self):
        self.scaler.step(self.optimizer)
        self.scaler.update()
        self.optimizer.zero_grad()
