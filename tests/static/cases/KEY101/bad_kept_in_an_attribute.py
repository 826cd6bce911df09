"""A dict is put into an attribute of an object of the project, and nobody fills what has that name."""

import torch


class Resumer:
    def __init__(self):
        self.groups = []

    def resume(self):
        for group in self.groups:
            group["lr"] = 0.1


def kept():
    resumer = Resumer()
    group = {"params": [torch.randn(2)]}
    resumer.groups = [group]
    resumer.resume()
    with torch.autocast("cuda"):
        return group["lr"] * group["weight_decay"]  # expect: KEY101
