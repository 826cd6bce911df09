"""What all programs of the project share."""

import torch


def create_scaler(device):
    return torch.amp.GradScaler(device)


def learning_rate(optimizer):
    return optimizer.param_groups[0]["lr"]
