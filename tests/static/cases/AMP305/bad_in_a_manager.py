from contextlib import contextmanager

import torch


@contextmanager
def half():
    with torch.inference_mode(False), torch.autocast("cuda", dtype=torch.float16):
        yield


def train(model, loss_fn, optimizer, batches):
    for inputs, targets in batches:
        optimizer.zero_grad()
        with half():  # expect: AMP305
            loss = loss_fn(model(inputs), targets)
        loss.backward()
        optimizer.step()
