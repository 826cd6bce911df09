"""Contexts of autocast that functions of the project build."""

import precision
from precision import Precision, half


def by_a_method(model, batches, chosen: Precision):
    for batch in batches:
        chosen.autocast()  # expect: AMP103
        model(batch).backward()


def by_a_function(model, batches):
    for batch in batches:
        half()  # expect: AMP103
        model(batch).backward()


def kept_for_nothing(model, batch):
    context = precision.half()  # expect: AMP103
    return model(batch)
