"""A dict is put into an attribute by a statement, and filled by whoever has the object."""

from unittest.mock import Mock

import torch


class Resumer:
    def __init__(self):
        self.optimizer = None
        self.settings = None

    def resume(self):
        for group in self.optimizer.param_groups[:1]:
            if "use_focus" not in group:
                group["use_focus"] = False

    def describe(self):
        for name, table in enumerate(self.tables):
            table["name"] = name


def of_an_object_that_is_not_followed():
    resumer = Resumer()
    optimizer = Mock()
    group = {"params": [torch.randn(2)]}
    optimizer.param_groups = [group]
    resumer.optimizer = optimizer
    resumer.resume()
    with torch.autocast("cuda"):
        return group["use_focus"]


def handed_out(run):
    holder = Mock()
    found = {}
    holder.found = found
    run(holder)
    return found["loss"]


def of_an_object_that_fills_it():
    resumer = Resumer()
    table = {"rows": 3}
    resumer.tables = (table,)
    resumer.describe()
    return table["name"]
