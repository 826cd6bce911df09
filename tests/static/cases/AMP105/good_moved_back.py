"""What was on the GPU goes back to the CPU before a region for the CPU."""

import torch


def both(model, inputs):
    model = model.bfloat16()
    model = model.to("cuda")
    inputs = inputs.to("cuda")
    first = model(inputs)
    model = model.to("cpu")
    with torch.autocast("cpu", dtype=torch.bfloat16):
        second = model(inputs.to("cpu"))
    return first, second
