"""Keys that are read and never put in. (The file mentions autocast: others are not looked at.)"""

import torch


def set_up(batches):
    return {"train_loader": batches, "epochs": 1}


def by_variable(batches):
    env = set_up(batches)
    return env["train_data"]  # expect: KEY101


def without_variable(batches):
    return set_up(batches)["val_loader"]  # expect: KEY101


def handed_on(batches):
    summary(set_up(batches))


def summary(env):
    print(f"{len(env['loader'])} batches, {env['epochs']} epochs")  # expect: KEY101


def grown_step_by_step():
    stats = {}
    stats["loss"] = 1.0
    stats.update(accuracy=0.5)
    stats.update({"steps": 3})
    stats.setdefault("scale", 65536.0)
    print(stats["loss"], stats["accuracy"], stats["steps"], stats["scale"])
    return stats["accurracy"]  # expect: KEY101


def made_by_call():
    options = dict(lr=0.1, momentum=0.9)
    return options["learning_rate"]  # expect: KEY101


def spread():
    base = {"lr": 0.1}
    options = {**base, "epochs": 3}
    return options["momentum"]  # expect: KEY101


def either_of_two(flag):
    if flag:
        result = {"loss": 1.0}
    else:
        result = {"loss": 2.0, "extra": 1}
    return result["los"]  # expect: KEY101


def by_conditional_expression(flag):
    result = {"loss": 1.0} if flag else {"error": 2.0}
    return result["loss"] + result["metric"]  # expect: KEY101


def asked_for_another_key(batches):
    env = set_up(batches)
    if "epochs" in env:
        print(env["epochs"])
    return env["seed"]  # expect: KEY101


def caught_as_something_else(batches):
    env = set_up(batches)
    try:
        return env["seed"]  # expect: KEY101
    except ValueError:
        return 0


def aliased(batches):
    env = set_up(batches)
    same = env
    return same["seed"]  # expect: KEY101


class Trainer:
    def __init__(self, batches):
        self.env = set_up(batches)
        self.history = {"loss": [], "scale": []}

    def fit(self, model):
        with torch.autocast("cuda"):
            model(self.env["train_loader"])
        self.history["loss"].append(1.0)
        self.history["scales"].append(1.0)  # expect: KEY101


class Longer(Trainer):
    def report(self):
        return self.env["epoch"]  # expect: KEY101


def first_line_of_a_report(values, title):
    with torch.no_grad():
        return f"{title}: {values['accuracy']}"  # expect: KEY101


def print_reports():
    print(first_line_of_a_report({"loss": 1.0}, title="train"))
    print(first_line_of_a_report(values={"loss": 1.0, "accuracy": 0.5}, title="test"))
