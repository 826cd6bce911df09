"""The region is on where there is a scaler, by whatever setting that was made."""

import torch


def train(model, optimizer, loader, scaler=None):
    for batch in loader:
        optimizer.zero_grad()
        with torch.autocast("cuda", dtype=torch.float16, enabled=scaler is not None):
            loss = model(batch)
        if scaler is None:
            loss.backward()
            optimizer.step()
        else:
            scaler.scale(loss).backward()
            scaler.step(optimizer)
            scaler.update()


def main(model, optimizer, loader, amp):
    scaler = torch.amp.GradScaler("cuda") if amp else None
    train(model, optimizer, loader, scaler)
