"""What is worked out with autograd off comes after the loss, or on one way only: the loss has its graph."""

import torch


def evaluate(model, loader, criterion, device):
    model.eval()
    total = torch.zeros(1, device=device)
    for images, targets in loader:
        with torch.amp.autocast("cuda"):
            outputs = model(images)
            total += criterion(outputs, targets)  # expect: PERF110 likely
            with torch.no_grad():
                outputs = torch.argmax(outputs, dim=1)
        print(outputs)
    return total


def on_one_way(model, loader, criterion, is_quiet):
    total = 0.0
    for images, targets in loader:
        with torch.amp.autocast("cuda"):
            outputs = model(images)
            if is_quiet:
                with torch.no_grad():
                    outputs = model(images)
            total += criterion(outputs, targets)  # expect: PERF110 likely
    return total
