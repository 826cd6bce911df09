"""A trainer that is a module, and whose region and backward are an accelerator's, is called in no region."""

import torch
from accelerate import Accelerator


def either(value, other):
    return value if value is not None else other


class DecoderTrainer(torch.nn.Module):
    def __init__(self, decoder, accelerator=None):
        super().__init__()
        self.decoder = decoder
        self.accelerator = either(accelerator, Accelerator)

    def forward(self, images):
        with self.accelerator.autocast():
            loss = self.decoder(images)
        self.accelerator.backward(loss)
        return loss


def train(build, optimizer, scaler, batches):
    model = build("model")
    for images in batches:
        with torch.autocast("cuda"):
            loss = model(images)
        optimizer.zero_grad()
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
