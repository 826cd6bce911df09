"""Models with an island of float32 for their last layer: all before it runs as the training or the evaluation says."""

import torch
from torch import nn


class Margin(nn.Module):
    def __init__(self):
        super().__init__()
        self.body, self.head = nn.Linear(8, 8), nn.Linear(8, 2)

    def forward(self, inputs):
        features = self.body(inputs)
        with torch.autocast("cuda", enabled=False):
            return self.head(features.float())


def main(train_loader, test_loader):
    model = Margin().cuda()
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.Adam(model.parameters())
    scaler = torch.amp.GradScaler("cuda")
    for _ in range(10):
        for inputs, targets in train_loader:
            optimizer.zero_grad()
            with torch.autocast("cuda"):
                loss = criterion(model(inputs), targets)
            scaler.scale(loss).backward()
            scaler.step(optimizer)
            scaler.update()
        model.eval()
        for inputs, targets in test_loader:
            with torch.no_grad():
                loss = criterion(model(inputs), targets)  # expect: AMP106 likely
            print(loss.item())
