"""Dicts that are handed to what only reads them, or puts other keys in."""

import threading
from types import SimpleNamespace

import torch


class Builder:
    def __init__(self, config):
        self.config = config
        self.options = {}

    def describe(self):
        return sorted(self.options)

    def other(self):
        self.history = [3]


def by_an_unbound_method(model, batch):
    stand_in = SimpleNamespace(options={"device": "cuda"})
    Builder.describe(stand_in)
    with torch.autocast(stand_in.options["devices"]):  # expect: KEY101
        return model(batch)


def shown_by(found):
    def show(*given):
        print(found, given)

    return show


def by_a_closure_that_reads(model):
    found = {"start": 0}
    model.register_forward_hook(shown_by(found))
    return found["end"]  # expect: KEY101


def shadowing(found):
    def effect(found):
        found["end"] = 3

    return effect, len(found)


def by_a_closure_with_its_own(model):
    found = {"start": 0}
    model.register_forward_hook(shadowing(found)[0])
    return found["end"]  # expect: KEY101


class Size:
    def __init__(self, **parts):
        self.size = len(parts)


def by_an_object_that_counts():
    parts = {"a": 1}
    size = Size(parts=parts)
    return size, parts["b"]  # expect: KEY101


def by_a_thread(work):
    found = {"a": 1}
    thread = threading.Thread(name="worker", daemon=True)
    thread.start()
    return found["b"]  # expect: KEY101
