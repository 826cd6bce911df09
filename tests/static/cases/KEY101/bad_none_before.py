"""What is None before it is a dict has no keys to read: the dict alone decides."""

import torch


class Monitor:
    def __init__(self, model):
        self.model = model
        self.report = None
        self.scaler = torch.amp.GradScaler("cuda")

    def measure(self, batch):
        self.report = {"count": len(batch), "seconds": 0.5}

    def line(self):
        return f"{self.report['time']:.3f}"  # expect: KEY101


class Summary:
    rows = None

    def fill(self):
        self.rows = {"mean": 0.0}

    def show(self):
        print(self.rows["median"])  # expect: KEY101


def last_of(batches):
    best = None
    for batch in batches:
        best = {"loss": batch}
    return best["score"]  # expect: KEY101
