"""Saved, but nothing here ever loads it: somebody else may."""

import torch


def main(model, optimizer, batches, path):
    scaler = torch.amp.GradScaler("cuda")
    for batch in batches:
        optimizer.zero_grad()
        scaler.scale(model(batch)).backward()
        scaler.step(optimizer)
        scaler.update()
    torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict()}, path)  # expect: AMP302 likely
