"""Builds what the training reads."""


def load(path):
    data = read(path)
    return {"train_loader": data, "val_loader": data, "n_samples": len(data)}


def read(path):
    return [path]
