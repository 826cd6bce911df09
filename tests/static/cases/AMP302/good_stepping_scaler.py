"""The state of a library's object that holds a scaler is kept, and loaded again."""

import torch
from timm.utils import NativeScaler


def main(model, criterion, loader, path, device):
    optimizer = torch.optim.AdamW(model.parameters())
    loss_scaler = NativeScaler()
    checkpoint = torch.load(path)
    model.load_state_dict(checkpoint["model"])
    optimizer.load_state_dict(checkpoint["optimizer"])
    loss_scaler.load_state_dict(checkpoint["scaler"])
    for _ in range(10):
        for inputs, targets in loader:
            with torch.autocast("cuda"):
                loss = criterion(model(inputs.to(device)), targets.to(device))
            optimizer.zero_grad()
            loss_scaler(loss, optimizer, parameters=model.parameters())
        states = {"model": model.state_dict(), "optimizer": optimizer.state_dict(), "scaler": loss_scaler.state_dict()}
        torch.save(states, path)
