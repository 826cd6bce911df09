"""What `main` of each program keeps."""

import torch


def save(path, optimizer=None, scaler=None):
    checkpoint = {
        "optimizer": optimizer.state_dict() if optimizer is not None else None,
        "scaler": scaler.state_dict() if scaler is not None else None,
    }
    torch.save(checkpoint, path)
