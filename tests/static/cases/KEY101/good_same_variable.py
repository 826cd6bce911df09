"""The variable itself, or the attribute of what may be the same object, gets the key where that cannot be followed."""

import torch

scaler = torch.amp.GradScaler("cuda")


class Trainer:
    def __init__(self):
        self.env = {"epoch": 0}

    def show(self):
        print(self.env["best"])


def on_best(trainer, value):
    trainer.env["best"] = value


def outer(batches, load):
    row = {"count": len(batches)}
    if batches:
        row = load()
    row["mean"] = 0.0

    def inner():
        return row["mean"]

    return inner
