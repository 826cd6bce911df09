"""Dicts that are written as arguments, and filled by what gets them; a namespace that source text is run in."""

import torch
from testing_tools import exec_wrapper


class Forecaster:
    def __init__(self, settings: dict):
        settings.setdefault("distribution", "normal")
        print(settings["distribution"])


def run_source(source):
    names = {}
    exec_wrapper(source, globals(), names)
    return names["entry"]()


def main(model, batch):
    with torch.autocast("cuda"):
        model(batch)
    Forecaster(settings={})
    run_source("def entry(): return 1")
