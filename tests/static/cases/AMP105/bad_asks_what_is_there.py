"""The region is for CUDA wherever that is there, and a setting may keep the tensors on the CPU."""

import torch


def run(args, net, inputs):
    place = torch.device("cuda" if args.gpu else "cpu")
    kind = "cuda" if torch.cuda.is_available() else "cpu"
    net = net.to(place)
    inputs = inputs.to(place)
    with torch.autocast(kind, dtype=torch.bfloat16):  # expect: AMP105 likely
        return net(inputs)
