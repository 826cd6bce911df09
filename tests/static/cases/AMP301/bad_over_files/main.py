import torch
from engine import train_epoch


def main(model, batches):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    epoch = 0
    while epoch < 10:
        run(model, optimizer, batches)
        epoch += 1


def run(model, optimizer, batches):
    train_epoch(model, optimizer, batches)
