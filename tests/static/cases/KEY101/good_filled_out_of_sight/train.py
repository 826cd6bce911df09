import torch

from data import resolve


def main(args, model, loader):
    config = resolve(args)
    channels = config["input_size"][0]
    with torch.autocast("cuda"):
        return model(loader, channels, config["mean"])
