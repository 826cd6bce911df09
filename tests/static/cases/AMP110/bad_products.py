"""Products of outputs are as half as those: torch multiplies matrices of one dtype only."""

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import nn


def contrast(model, optimizer, scaler, batches, temperature):
    for images, texts in batches:
        optimizer.zero_grad()
        with torch.autocast("cuda"):
            image_features, text_features = model(images, texts)
        logits = image_features @ text_features.t() / temperature
        labels = torch.arange(len(images), device=images.device)
        loss = F.cross_entropy(logits, labels)  # expect: AMP110 likely
        turned = model.logit_scale.exp() * text_features @ image_features.T
        other = F.cross_entropy(turned, labels)  # expect: AMP110 likely
        scaler.scale(loss + other).backward()
        scaler.step(optimizer)
        scaler.update()


@dataclass
class Scores:
    logits: torch.Tensor
    labels: torch.Tensor


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(8, 8)

    def forward(self, heads, tails):
        return {"head": self.layer(heads), "tail": self.layer(tails)}

    def scores(self, vectors):
        logits = vectors["head"].mm(vectors["tail"].t())
        return {"logits": logits, "labels": torch.arange(len(logits))}


class Trainer:
    def __init__(self, optimizer):
        self.model = Encoder()
        self.criterion = nn.CrossEntropyLoss()
        self.optimizer = optimizer
        self.scaler = torch.amp.GradScaler("cuda")

    def train(self, batches):
        for heads, tails in batches:
            self.optimizer.zero_grad()
            with torch.autocast("cuda"):
                vectors = self.model(heads, tails)
            found = self.model.scores(vectors=vectors)
            found = Scores(**found)
            logits, labels = found.logits, found.labels
            loss = self.criterion(logits, labels)  # expect: AMP110 likely
            self.scaler.scale(loss).backward()
            self.scaler.step(self.optimizer)
            self.scaler.update()
