"""The scaler is there for its interface only."""

import torch


def main(model, optimizer, batches, path):
    scaler = torch.amp.GradScaler("cuda", enabled=False)
    optimizer.load_state_dict(torch.load(path)["optimizer"])
    for batch in batches:
        optimizer.zero_grad()
        scaler.scale(model(batch)).backward()
        scaler.step(optimizer)
        scaler.update()
    torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict()}, path)
