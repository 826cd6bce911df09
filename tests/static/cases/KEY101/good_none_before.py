"""None before a dict that has the key, or before something that is not known."""

import json

import torch


class Monitor:
    def __init__(self, path):
        self.path = path
        self.report = None
        self.read = None
        self.scaler = torch.amp.GradScaler("cuda")

    def measure(self, batch):
        self.report = {"count": len(batch)}

    def finish(self):
        self.report["time"] = 0.5

    def line(self):
        return f"{self.report['time']:.3f}"

    def load(self):
        self.read = json.loads(self.path.read_text())

    def first(self):
        return self.read["first"]


def summary(options=None):
    if options is None:
        options = {"mean": 0.0}
    return options["median"]


def start():
    return summary({"median": 1.0})
