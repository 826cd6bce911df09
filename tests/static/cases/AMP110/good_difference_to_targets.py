"""What an output and a float32 tensor differ by is float32."""

import torch


def train(model, criterion, optimizer, scaler, batches):
    for inputs, reference, targets in batches:
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast("cuda", dtype=torch.float16):
            outputs = model(inputs)
        loss = criterion(outputs - reference, targets) + criterion(outputs + torch.mean(reference), targets)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
