"""A program in float32: it shares the tools, and makes no scaler."""

import torch
from checkpoint import save
from tools import learning_rate


def main(model, loss_fn, optimizer, batches, path):
    optimizer.load_state_dict(torch.load(path)["optimizer"])
    for inputs, targets in batches:
        optimizer.zero_grad()
        loss_fn(model(inputs), targets).backward()
        optimizer.step()
    print(learning_rate(optimizer))
    save(path, optimizer)


if __name__ == "__main__":
    main(*make())
