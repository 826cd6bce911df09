"""A model that is built on the host and moved before the loop, by itself or by what it is given to."""

import torch
from torch.utils.data import DataLoader

criterion = torch.nn.CrossEntropyLoss()
loader = DataLoader([(torch.rand(784), 1)], num_workers=2)

model = torch.nn.Linear(784, 10)
model.cuda()
optimizer = torch.optim.Adam(model.parameters())
losses = []
for images, labels in loader:
    optimizer.zero_grad()
    loss = criterion(model(images), labels)
    losses.append(loss.item())  # expect: PERF101
    loss.backward()
    optimizer.step()


def with_a_library(accelerator, batches):
    network = torch.nn.Linear(784, 10)
    optimizer = torch.optim.Adam(network.parameters())
    network, optimizer, batches = accelerator.prepare(network, optimizer, batches)
    for images, labels in batches:
        optimizer.zero_grad()
        loss = criterion(network(images), labels)
        print(loss.item())  # expect: PERF101
        loss.backward()
        optimizer.step()


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(784, 10).cuda()

    def forward(self, images):
        return self.layer(images.cuda())


def moves_itself(batches):
    net = Net()
    optimizer = torch.optim.Adam(net.parameters())
    for images, labels in batches:
        optimizer.zero_grad()
        loss = criterion(net(images), labels)
        print(loss.item())  # expect: PERF101
        loss.backward()
        optimizer.step()
