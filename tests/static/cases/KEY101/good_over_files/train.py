from environment import extend, load
from torch import autocast


def start(model, path):
    env = load(path)
    extend(env, 3)
    with autocast("cuda"):
        model(env["train_loader"])
    return env["seed"], env["val_loader"]
