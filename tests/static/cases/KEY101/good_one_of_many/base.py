from typing import Protocol

import torch


class Backbone(Protocol):
    def features(self, x) -> dict: ...


class Method:
    def __init__(self, backbone: Backbone):
        self.backbone = backbone

    def class_token(self, x):
        tokens = self.backbone.features(x)
        return tokens["class_token"]

    def train(self, optimizer, scaler, batches):
        for batch in batches:
            optimizer.zero_grad()
            with torch.autocast("cuda"):
                loss = self.class_token(batch).mean()
            scaler.scale(loss).backward()
            scaler.step(optimizer)
            scaler.update()
