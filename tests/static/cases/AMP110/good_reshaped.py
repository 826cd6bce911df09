"""What goes into the loss is cast on the way, in the region or behind it, or is no output."""

import torch
import torch.nn.functional as F


def train(model, optimizer, scaler, batches):
    for inputs, labels in batches:
        with torch.autocast("cuda", dtype=torch.float16):
            result = model(inputs)
            logits = result.logits[..., :-1, :].contiguous()
            logits = logits.float()
        optimizer.zero_grad()
        loss = F.cross_entropy(logits.view(-1, logits.size(-1)), labels.view(-1))
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()


def train_other(model, optimizer, scaler, batches):
    for inputs, labels in batches:
        with torch.autocast("cuda", dtype=torch.float16):
            logits = model(inputs)
            shape = inputs.view(-1)
        optimizer.zero_grad()
        loss = F.cross_entropy(logits.permute(0, 2, 1).float(), labels) + F.cross_entropy(shape.view(2, -1), labels)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
