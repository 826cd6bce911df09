"""What this package adds to torch."""

import torch


def seeded(number):
    torch.manual_seed(number)
