"""Region and tensors ask the same."""

import torch


def run(args, net, inputs):
    place = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    kind = "cuda" if torch.cuda.is_available() else "cpu"
    net = net.to(place)
    inputs = inputs.to(place)
    with torch.autocast(kind, dtype=torch.bfloat16):
        return net(inputs)
