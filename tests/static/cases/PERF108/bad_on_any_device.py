"""A region for the CPU, in a file that takes the place of the weights, whatever it is."""

import time

import torch


def measure(model, data):
    with torch.no_grad():
        for _ in range(10):
            model(data)
        start = time.time()
        for _ in range(10):
            model(data)
        end = time.time()  # expect: PERF108 likely
    print((end - start) / 10)


def main(model):
    model.eval()
    device = next(model.parameters()).device
    inputs = torch.rand(1, 3, 224, 224, device=device)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        measure(model, inputs)
