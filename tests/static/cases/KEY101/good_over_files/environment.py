"""Builds what the training reads, and adds to it elsewhere."""


def load(path):
    return {"train_loader": [path], "val_loader": [path]}


def extend(env, seed):
    env["seed"] = seed
    return env
