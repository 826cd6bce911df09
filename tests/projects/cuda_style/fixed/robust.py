"""Trains a regressor on data with outliers."""

import torch
import torch.nn.functional as F
from torch.cuda.amp import GradScaler, autocast

from data import FEATURES


def train(batches, epochs=2, spike=None):
    """Returns the scaler and the model; the input of batch `spike` is infinite."""
    model = torch.nn.Linear(FEATURES, 1).cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-2)
    scaler = GradScaler(init_scale=2.0**12)
    for _epoch in range(epochs):
        for number, (features, _labels) in enumerate(batches):
            features = features.cuda(non_blocking=True)
            if number == spike:
                features = features * float("inf")
            optimizer.zero_grad(set_to_none=True)
            with autocast():
                loss = F.mse_loss(model(features), features.sum(dim=1, keepdim=True))
            scaler.scale(loss).backward()
            scaler.unscale_(optimizer)
            scaler.step(optimizer)
            scaler.update()
    return scaler, model
