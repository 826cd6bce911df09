"""What goes into the sum has no graph: a number, what a function of the project detaches, or no loss at all."""

import torch
import torch.nn.functional as F


def loss_of(outputs, labels):
    return F.cross_entropy(outputs, labels).item()


def evaluate(model, critic, criterion, loader):
    model.eval()
    total, plain, targets, scores = 0.0, 0.0, 0.0, 0.0
    for images, labels in loader:
        with torch.autocast("cuda"):
            outputs = model(images)
            total += loss_of(outputs, labels)
            plain += criterion(outputs, labels).item()
            targets += criterion(labels, labels)
            scores += critic(outputs)
    return total, plain, targets, scores


def train(model, critic, criterion, optimizer, scaler, loader):
    pending = []  # for a backward of its own
    for images, labels in loader:
        optimizer.zero_grad()
        with torch.autocast("cuda"):
            outputs = model(images)
            loss = criterion(outputs, labels)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        with torch.autocast("cuda"):
            pending.append(criterion(model(images.flip(0)), labels))
    return pending


def main(model, critic, criterion, optimizer, scaler, loader):
    train(model, critic, criterion, optimizer, scaler, loader)
    print(evaluate(model, critic, criterion, loader))
