"""What is summed has the name of a loss, and is by then the number that the metrics give."""

import torch


def main(model, criterion, optimizer, metrics, loader):
    total = other_total = 0.0
    for images, labels in loader:
        with torch.autocast("cuda", dtype=torch.bfloat16):
            outputs = model(images)
            loss = criterion(outputs, labels)
            other = criterion(outputs.flip(0), labels)
        optimizer.zero_grad()
        metrics.update([loss.item(), other.item()])
        (loss + other).backward()
        optimizer.step()
        (loss, other) = metrics.averages()
        total += loss
        other_total += other
    return total, other_total
