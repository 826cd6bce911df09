"""Dicts, or objects that hold them, are handed to what keeps them or fills them later: any key may be there."""

import argparse
import threading
from dataclasses import dataclass
from functools import partial
from types import SimpleNamespace
from unittest import mock

import torch


class Builder:
    def __init__(self, config):
        self.config = config
        self.options = {}

    def choose_precision(self):
        self.options["dtype"] = torch.float16 if self.config.half else torch.float32

    def choose_device(self):
        self.options.update(device="cuda")


def by_an_unbound_method(model, batch):
    stand_in = SimpleNamespace(config=SimpleNamespace(half=True), options={})
    Builder.choose_precision(stand_in)
    with torch.autocast("cuda", dtype=stand_in.options["dtype"]):
        return model(batch)


def by_an_unbound_method_that_updates():
    options = {}
    stand_in = argparse.Namespace(options=options)
    Builder.choose_device(stand_in)
    return options["device"]


@dataclass
class State:
    options: dict


def note(state):
    state.options["seed"] = 3


def in_a_record():
    state = State(options={})
    note(state)
    return state.options["seed"]


def recording(found):
    def effect(*given):
        found["given"] = given
        return None

    return effect


def recording_two_deep(found):
    def outer():
        def inner(value):
            found.update(value=value)

        return inner

    return outer()


def recording_by_a_lambda(found):
    return lambda value: found.setdefault("value", value)


def fill(found, value):
    found["value"] = value


def run(model, found):
    with mock.patch.object(model, "loss", side_effect=recording(found)):
        model.fit()


def by_a_closure(model):
    found = {}
    run(model, found)
    return found["given"]


def by_a_closure_inside(model):
    found = {}
    model.register_forward_hook(recording_two_deep(found))
    return found["value"]


def by_a_lambda(model):
    found = {}
    model.register_forward_hook(recording_by_a_lambda(found))
    return found["value"]


def by_a_partial_function(model):
    found = {}
    model.register_forward_hook(partial(fill, found))
    return found["value"]


def by_a_thread():
    found = {}
    thread = threading.Thread(target=fill, args=(found, 3))
    thread.start()
    thread.join()
    return found["value"]


class Part:
    def __init__(self, value, name):
        self.value = value
        self.name = name


class Store:
    def __init__(self, strict=True, **parts):
        self.strict = strict
        self.parts = {}
        for name, part in parts.items():
            self.register(name, part)

    def register(self, name, part):
        self.parts[name] = Part(part, name)

    def load(self, path):
        saved = torch.load(path)
        for name, part in self.parts.items():
            part.value.update(saved[name])


def by_a_store(path):
    config = {}
    Store(config=config).load(path)
    return config["batch_size"]


def by_a_store_later(path):
    config = {}
    store = Store()
    store.register("config", config)
    store.load(path)
    return config["batch_size"]


class Plain:
    def __init__(self, settings):
        self.settings = settings

    def load(self, path):
        self.settings.update(torch.load(path))


def kept_as_it_is(path):
    settings = {}
    Plain(settings).load(path)
    return settings["batch_size"]


class ByName:
    def __init__(self, seen):
        self.seen = seen

    def report(self, loss):
        here = self.seen
        here["loss"] = loss


def kept_and_named_again(loss):
    seen = {}
    ByName(seen).report(loss)
    return seen["loss"]
