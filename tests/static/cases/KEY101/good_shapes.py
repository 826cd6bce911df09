"""Reads that are right, or of dicts whose keys nobody can know. (The file mentions autocast.)"""

import json
from collections import Counter, defaultdict

import torch


def set_up(batches):
    return {"train_loader": batches, "epochs": 1}


def right(batches):
    return set_up(batches)["train_loader"]


def asked_first(batches):
    env = set_up(batches)
    if "seed" in env:
        torch.manual_seed(env["seed"])
    if "limit" not in env:
        return None
    return env["limit"]


def asked_softly(batches):
    return set_up(batches).get("seed", 0)


def caught(batches):
    env = set_up(batches)
    try:
        return env["seed"]
    except KeyError:
        return 0


def caught_with_others(batches):
    env = set_up(batches)
    try:
        return env["seed"]
    except (ValueError, KeyError):
        return 0


def put_in_on_one_path(flag):
    stats = {"loss": 1.0}
    if flag:
        stats["accuracy"] = 0.5
    return stats["accuracy"]


def put_in_by_another_function():
    stats = {"loss": 1.0}
    add(stats)
    return stats["accuracy"]


def add(stats):
    stats["accuracy"] = 0.5


def one_of_two_has_it(flag):
    result = {"loss": 1.0} if flag else {"error": 2.0}
    return result["error"]


def computed_key(names):
    table = {"loss": 1.0}
    for name in names:
        table[name] = 0.0
    return table["accuracy"]


def computed_in_the_literal(name):
    table = {"loss": 1.0, name: 2.0}
    return table["accuracy"]


def comprehension(names):
    table = {name: 0.0 for name in names}
    return table["accuracy"]


def spread_of_something_unknown(options):
    table = {"lr": 0.1, **options}
    return table["momentum"]


def keywords(**options):
    table = dict(lr=0.1, **options)
    return table["momentum"]


def updated_with_something_unknown(options):
    table = {"lr": 0.1}
    table.update(options)
    return table["momentum"]


def merged(options):
    table = {"lr": 0.1}
    table |= options
    return table["momentum"]


def merged_anew(options):
    table = {"lr": 0.1} | options
    return table["momentum"]


def from_a_file(path):
    with open(path) as file:
        return json.load(file)["lr"]


def other_mappings(batches):
    counts, lists = Counter(), defaultdict(list)
    lists["loss"].append(1)
    return counts["loss"], lists["accuracy"], batches["targets"]


def handed_to_unknown_code(callback):
    stats = {"loss": 1.0}
    callback(stats)
    return stats["accuracy"]


def handed_out_by_a_method(logger):
    stats = {"loss": 1.0}
    logger.enrich(stats)
    return stats["accuracy"]


def integers():
    table = {0: "a", 1: "b"}
    return table[0]


def deleted_and_written():
    table = {"loss": 1.0}
    table["scale"] = 2.0
    del table["loss"]
    return table["scale"]


def only_written(batches):
    env = set_up(batches)
    env["seed"] = 1
    return env["seed"]


def through_a_loop():
    rows = []
    for index in range(3):
        rows.append({"index": index})
    return rows[0]["index"]


def nested():
    config = {"optimizer": {"lr": 0.1}}
    return config["optimizer"]["lr"]


class Trainer:
    def __init__(self, batches, config):
        self.env = set_up(batches)
        self.config = config
        self.history = {"loss": []}

    def prepare(self):
        self.env["seed"] = 1
        self.history["scale"] = []

    def fit(self):
        self.history["scale"].append(self.config["scale"])
        return self.env["seed"]


class Base:
    def settings(self):
        return {"lr": 0.1}

    def lr(self):
        return self.settings()["momentum"] if self.settings().get("momentum") else 0.0


class Derived(Base):
    def settings(self):
        return {"lr": 0.1, "momentum": 0.9}


class Template:
    """Its read is right in what derives from it."""

    def names(self):
        return {"train": 1}

    def validation(self):
        return self.names()["validation"]


class Filled(Template):
    def names(self):
        return {"train": 1, "validation": 2}


class Observed:
    def __init__(self):
        self.state = {"step": 0}

    def best(self):
        return self.state["best"]


def observer(trainer, value):
    trainer.state["best"] = value


def by_kind(values, kind):
    if kind == "validation":
        return values["accuracy"]
    return values["loss"]


def by_early_return(values, kind):
    if kind != "validation":
        return values["loss"]
    return values["accuracy"]


def of_each_kind():
    train, validation = {"loss": 1.0}, {"loss": 1.0, "accuracy": 0.5}
    by_early_return(train, "train")
    return by_kind(train, "train"), by_kind(validation, "validation")
