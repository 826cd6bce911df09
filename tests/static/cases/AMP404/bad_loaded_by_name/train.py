"""The model comes from a file that is loaded by its name: nothing imports it."""

import importlib

from core.trainer import Trainer


def main(name):
    Trainer(importlib.import_module(name).build()).train([])


if __name__ == "__main__":
    main("plugins.large")
