"""Models that cast what they give."""

import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Conv2d(3, 8, 3)
        self.head = nn.Linear(8, 2)

    def forward(self, images):
        features = self.body(images).mean((2, 3))
        logits = self.head(features)
        return logits, logits.float()


class InAnIsland(Net):
    def forward(self, images):
        features = self.body(images).mean((2, 3))
        with torch.autocast("cuda", enabled=False):
            logits = self.head(features.float())
        return logits


class AllOfIt(Net):
    @torch.autocast("cuda", enabled=False)
    def forward(self, images):
        return self.head(self.body(images.float()).mean((2, 3)))


class Normalised(Net):
    def __init__(self):
        super().__init__()
        self.normal = nn.Softmax(-1)

    def forward(self, images):
        logits = self.head(self.body(images.float()).mean((2, 3)))
        return self.normal(logits)


class Twice(Net):
    def forward(self, images):
        features = self.body(images).mean((2, 3))
        logits = self.head(features).float()
        logits += self.head(features)
        return logits


class Trainer:
    def __init__(self, optimizer):
        self.model, self.other_net, self.third_net = Net(), InAnIsland(), AllOfIt()
        self.fourth_net, self.fifth_net = Normalised(), Twice()
        self.optimizer = optimizer
        self.scaler = torch.amp.GradScaler("cuda")
        self.criterion = nn.CrossEntropyLoss()

    def step(self, images, targets):
        with torch.autocast("cuda"):
            _, logits = self.model(images)
            again = self.other_net(images)
            third = self.third_net(images)
            fourth = self.fourth_net(images)
            fifth = self.fifth_net(images)
        loss = self.criterion(logits, targets)
        others = self.criterion(again, targets)
        others = self.criterion(third, targets) + others
        others = self.criterion(fourth, targets) + self.criterion(fifth, targets) + others
        self.scaler.scale(loss + others).backward()
        self.scaler.step(self.optimizer)
        self.scaler.update()
        self.optimizer.zero_grad()
