"""Trains two heads on one representation: one backward, an optimizer for each, one scaler for both."""

import torch
import torch.nn.functional as F
from torch.cuda.amp import GradScaler, autocast

from data import CLASSES, FEATURES


def train(batches, epochs=2):
    """Returns the scaler and the two heads."""
    classifier = torch.nn.Linear(FEATURES, CLASSES).cuda()
    decoder = torch.nn.Linear(FEATURES, FEATURES).cuda()
    optimizer_c = torch.optim.SGD(classifier.parameters(), lr=0.1)
    optimizer_d = torch.optim.SGD(decoder.parameters(), lr=0.1)
    scaler = GradScaler(init_scale=2.0**12)
    for _epoch in range(epochs):
        for features, labels in batches:
            features = features.cuda(non_blocking=True)
            labels = labels.cuda(non_blocking=True)
            optimizer_c.zero_grad(set_to_none=True)
            optimizer_d.zero_grad(set_to_none=True)
            with autocast():
                loss = F.cross_entropy(classifier(features), labels) + F.mse_loss(decoder(features), features)
            scaler.scale(loss).backward()
            scaler.step(optimizer_c)
            scaler.update()
            scaler.step(optimizer_d)
            scaler.update()
    return scaler, classifier, decoder
