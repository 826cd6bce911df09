"""A dict that is written as an argument, and read by what gets it."""

import torch


class Forecaster:
    def __init__(self, settings: dict):
        print(settings["distribution"])  # expect: KEY101


def main(model, batch):
    with torch.autocast("cuda"):
        model(batch)
    Forecaster(settings={"scale": 1.0})
