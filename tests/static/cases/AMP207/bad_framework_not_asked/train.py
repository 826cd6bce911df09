"""The framework scales, and an optimizer that it was never given steps."""

import torch

from framework import Framework


def train(model, batches):
    framework = Framework()
    optimizer = torch.optim.AdamW(model.parameters())
    for batch in batches:
        optimizer.zero_grad()
        framework.backward(model(batch))
        optimizer.step()  # expect: AMP207
