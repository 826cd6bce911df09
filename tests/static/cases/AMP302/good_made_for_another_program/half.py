"""A program that scales, and resumes with its scaler."""

import torch
from checkpoint import save
from tools import create_scaler, learning_rate


def main(model, loss_fn, optimizer, batches, path):
    scaler = create_scaler("cuda")
    checkpoint = torch.load(path)
    optimizer.load_state_dict(checkpoint["optimizer"])
    scaler.load_state_dict(checkpoint["scaler"])
    for inputs, targets in batches:
        optimizer.zero_grad()
        with torch.autocast("cuda", dtype=torch.float16):
            loss = loss_fn(model(inputs), targets)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
    print(learning_rate(optimizer))
    save(path, optimizer, scaler)


if __name__ == "__main__":
    main(*make())
