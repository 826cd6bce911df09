"""A library's object that scales, steps and updates in one call holds a scaler, whose state belongs in the checkpoint."""

import torch
from timm.utils import NativeScaler


def main(model, criterion, loader, path, device):
    optimizer = torch.optim.AdamW(model.parameters())
    loss_scaler = NativeScaler()
    checkpoint = torch.load(path)
    model.load_state_dict(checkpoint["model"])
    optimizer.load_state_dict(checkpoint["optimizer"])
    for _ in range(10):
        train(model, criterion, loader, optimizer, loss_scaler, device)
        torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict()}, path)  # expect: AMP302


def train(model, criterion, loader, optimizer, loss_scaler, device):
    for inputs, targets in loader:
        with torch.autocast("cuda"):
            loss = criterion(model(inputs.to(device)), targets.to(device))
        optimizer.zero_grad()
        loss_scaler(loss, optimizer, parameters=model.parameters())
