"""The output is cut and reshaped on its way into the loss."""

import torch
import torch.nn.functional as F


def train(model, optimizer, scaler, batches):
    for inputs, labels in batches:
        with torch.autocast("cuda", dtype=torch.float16):
            result = model(inputs)
            logits = result.logits[..., :-1, :].contiguous()
        optimizer.zero_grad()
        loss = F.cross_entropy(logits.view(-1, logits.size(-1)), labels.view(-1))  # expect: AMP110 likely
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()


def train_other(model, optimizer, scaler, batches):
    for inputs, labels in batches:
        with torch.autocast("cuda", dtype=torch.float16):
            logits = model(inputs)
        optimizer.zero_grad()
        loss = F.cross_entropy(logits.permute(0, 2, 1), labels)  # expect: AMP110 likely
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
