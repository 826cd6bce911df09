from dataclasses import dataclass

import torch
from torch import nn


@dataclass
class Settings:
    lowest: float = -1e9


class Attention(nn.Module):
    LOWEST = -1e4

    def __init__(self, width):
        super().__init__()
        self.settings = Settings(lowest=-1e4)

    def forward(self, inputs, mask):
        scores = torch.matmul(inputs, inputs.transpose(1, 2))
        first = torch.where(mask, scores, self.LOWEST)
        exact = torch.full_like(scores, -1e9, dtype=torch.float32)
        low = torch.full_like(scores, self.settings.lowest)
        return first + torch.where(mask, exact, low).softmax(-1) @ inputs


def train(loader, loss_fn):
    model = Attention(8)
    optimizer = torch.optim.Adam(model.parameters())
    scaler = torch.amp.GradScaler("cuda")
    for inputs, mask, targets in loader:
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast("cuda", dtype=torch.float16):
            loss = loss_fn(model(inputs, mask), targets)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
