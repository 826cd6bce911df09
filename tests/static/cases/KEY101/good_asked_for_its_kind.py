"""A read where the same dict is asked for another key that goes along with it."""

import torch


def go(model, x):
    with torch.autocast("cuda"):
        return model(x)

def load(path):
    return {"model": path, "epochs": 3}


def of_another_kind(path):
    info = load(path)
    if isinstance(info, dict) and info.get("remote", False):
        return info["address"]
    return info["model"]
