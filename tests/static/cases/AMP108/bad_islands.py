"""Islands that compute with what the outer region made, as it is."""

import torch
from torch.cuda.amp import autocast


def loss_island(model, criterion, scaler, batches, amp):
    for inputs, targets in batches:
        with autocast(enabled=amp):
            outputs, _ = model(inputs)
            with autocast(enabled=False):  # expect: AMP108 likely
                loss = criterion(outputs, targets)
        scaler.scale(loss).backward()


@torch.autocast("cuda", dtype=torch.float16)
def norm_island(backbone, inputs):
    features = backbone(inputs)
    with torch.autocast("cuda", enabled=False):  # expect: AMP108 likely
        return torch.linalg.norm(features)


def island_after(model, criterion, optimizer, scaler, batches, device):
    for inputs, targets in batches:
        if scaler is not None:
            with torch.autocast(device, cache_enabled=True):
                outputs = model(inputs, targets)
            with torch.autocast(device, enabled=False):  # expect: AMP108 likely
                losses = criterion(outputs, targets)
            scaler.scale(sum(losses.values())).backward()
            scaler.step(optimizer)
            scaler.update()


class Detector(torch.nn.Module):
    """Layers that are attributes."""

    def __init__(self):
        super().__init__()
        self.encoder = torch.nn.Linear(8, 8)
        self.head = torch.nn.Linear(8, 2)

    def forward(self, inputs):
        with autocast():
            features = self.encoder(inputs)
            with autocast(enabled=False):  # expect: AMP108 likely
                return self.head(features)
