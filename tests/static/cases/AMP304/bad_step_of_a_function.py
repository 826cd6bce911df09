"""A function that is given the loss by its name scales it."""

import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(4, 4)

    def forward(self, inputs):
        with torch.autocast("cuda", dtype=torch.bfloat16):
            return self.layer(inputs)


def optimization_step(optimizer, scaler, loss):
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
    optimizer.zero_grad()


def train(batches):
    model = Net().cuda()
    optimizer = torch.optim.Adam(model.parameters())
    scaler = torch.amp.GradScaler("cuda")  # expect: AMP304
    for batch in batches:
        loss = model(batch).pow(2).mean()
        optimization_step(optimizer=optimizer, scaler=scaler, loss=loss)
