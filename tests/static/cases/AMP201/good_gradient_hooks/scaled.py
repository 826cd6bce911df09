"""Another program of the same project, which scales and clips in the right place."""

import torch


def train(model, loss_fn, optimizer, batches):
    scaler = torch.amp.GradScaler("cuda")
    for inputs, targets in batches:
        optimizer.zero_grad()
        with torch.autocast("cuda", dtype=torch.float16):
            loss = loss_fn(model(inputs), targets)
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        torch.nn.utils.clip_grad_value_(model.parameters(), 0.1)
        scaler.step(optimizer)
        scaler.update()


if __name__ == "__main__":
    train(*torch.load("everything.pt"))
