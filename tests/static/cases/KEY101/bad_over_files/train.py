import environment
from environment import load as load_environment
from torch import autocast


class Run:
    def __init__(self, path):
        self.environment = load_environment(path)

    def start(self, model):
        with autocast("cuda"):
            for batch in self.environment["train_loader"]:
                model(batch)
        print(self.environment["train_data"])  # expect: KEY101


def quick(path):
    return environment.load(path)["samples"]  # expect: KEY101
