"""The parameters are sorted by a function; the step is in another file, and nothing here speaks of it."""

import torch
from torch import nn

from engine import train


def without_decay(model):
    plain = [each for name, each in model.named_parameters() if name.endswith("bias")]
    return [{"params": plain, "weight_decay": 0.0}, {"params": [each for each in model.parameters() if each.ndim > 1]}]


def main(batches):
    model = nn.Linear(8, 2)
    groups = without_decay(model)
    model.half()  # expect: AMP401
    optimizer = torch.optim.AdamW(groups, lr=1e-3)
    train(model, nn.CrossEntropyLoss(), optimizer, batches)


if __name__ == "__main__":
    main([])
