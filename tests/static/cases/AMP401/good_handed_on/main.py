"""What is sorted are the parameters of another model than the one that is half."""

import torch
from torch import nn

from engine import train


def without_decay(unused, model):
    unused.eval()
    return [{"params": [each for each in model.parameters() if each.ndim > 1]}]


def main(batches):
    model, net = nn.Linear(8, 2), nn.Linear(8, 8)
    groups = without_decay(net, model)
    net.half()
    optimizer = torch.optim.AdamW(groups, lr=1e-3)
    train(model, nn.CrossEntropyLoss(), optimizer, batches)


if __name__ == "__main__":
    main([])
