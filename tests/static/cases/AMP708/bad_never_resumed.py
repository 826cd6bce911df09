"""Nothing in sight resumes from it: something else may."""

import torch


def train(model, loss_fn, loader, path):
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    for inputs, targets in loader:
        optimizer.zero_grad()
        loss_fn(model(inputs), targets).backward()
        optimizer.step()
    weights = model.state_dict()
    half = {name: weight.half() for name, weight in weights.items()}  # expect: AMP708 likely
    torch.save({"model": half, "optimizer": optimizer.state_dict()}, path)
