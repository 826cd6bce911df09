"""What the loss is worked out from has no graph: that its name is bound again afterwards changes nothing."""

import torch


def evaluate(model, loader, criterion, device):
    model.eval()
    total, matrix = torch.zeros(1, device=device), torch.zeros(2, 2)
    for images, targets in loader:
        with torch.amp.autocast("cuda"):
            with torch.no_grad():
                outputs = model(images)
            total += criterion(outputs, targets)
            outputs = torch.argmax(outputs, dim=1)
        matrix += torch.bincount(targets * 2 + outputs, minlength=4).reshape(2, 2)
    return (total / len(loader)).item(), matrix


def by_name(model, loader, criterion):
    total = 0.0
    for images, targets in loader:
        with torch.amp.autocast("cuda"):
            with torch.no_grad():
                outputs = model(images)
            loss = criterion(outputs, targets)
            total += loss
            outputs = outputs.float()
        print(outputs)
    return total


def of_labels(model, loader, criterion):
    total = 0.0
    for images, targets in loader:
        with torch.amp.autocast("cuda"):
            outputs = model(images)
            outputs = torch.argmax(outputs, dim=1)
            total += criterion(outputs, targets)
    return total
