import torch

scaler = torch.amp.GradScaler("cuda")


def read(path):
    return {"weights": path}


def load(path):
    found = read(path)
    return {**found, "path": path}


class Reader:
    def entry(self, path):
        return {"weights": path}


def first(reader: Reader, path):
    return Reader().entry(path)
