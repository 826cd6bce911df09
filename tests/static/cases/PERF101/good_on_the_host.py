"""A loop at the top of a notebook trains on the host: its model is built there, the GPU comes in a later part."""

import torch
from torch.utils.data import DataLoader


class Net(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.layers = torch.nn.Sequential(torch.nn.Linear(784, width), torch.nn.ReLU(), torch.nn.Linear(width, 10))

    def forward(self, images):
        return self.layers(images.flatten(1))


criterion = torch.nn.CrossEntropyLoss()
loader = DataLoader([(torch.rand(784), 1)], num_workers=2)

model = torch.nn.Linear(784, 10)
optimizer = torch.optim.Adam(model.parameters())
losses = []
for images, labels in loader:
    optimizer.zero_grad()
    loss = criterion(model(images), labels)
    losses.append(loss.item())
    loss.backward()
    optimizer.step()

model = Net(32)
optimizer = torch.optim.Adam(model.parameters())
model.train()
for epoch in range(3):
    for images, labels in loader:
        optimizer.zero_grad()
        loss = criterion(model(images), labels)
        print(epoch, loss.item())
        loss.backward()
        optimizer.step()

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
model = torch.nn.Linear(784, 10).to(DEVICE)
optimizer = torch.optim.Adam(model.parameters())
for images, labels in loader:
    images, labels = images.to(DEVICE), labels.to(DEVICE)
    optimizer.zero_grad()
    loss = criterion(model(images), labels)
    loss.backward()
    optimizer.step()
