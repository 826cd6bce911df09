"""A variable of the same name in another function is another dict."""

import torch

scaler = torch.amp.GradScaler("cuda")


def read(path):
    row = torch.load(path)
    row["score"] = 1.0
    return row


def measure(batch):
    row = {"count": len(batch)}
    return row["score"]  # expect: KEY101


def note(row):
    row["mean"] = 0.0


def show(batch):
    row = measure_all(batch)
    print(row["mean"])  # expect: KEY101


def measure_all(batch):
    return {"count": len(batch)}
