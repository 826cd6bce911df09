"""A region for the CPU, in a file that names nothing else: no call returns before its work is done."""

import time

import torch


def measure(model, data):
    with torch.no_grad():
        for _ in range(10):
            model(data)
        start = time.time()
        for _ in range(10):
            model(data)
        end = time.time()
    print((end - start) / 10)


def main(model):
    model.eval()
    inputs = torch.rand(1, 3, 224, 224)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        measure(model, inputs)
