"""Contexts of autocast that functions of the project build, and that are entered."""

from precision import Precision, half, switched_on


def by_a_method(model, batches, chosen: Precision):
    for batch in batches:
        with chosen.autocast():
            loss = model(batch)
        loss.backward()


def kept_and_entered(model, batch):
    context = half()
    with context:
        return model(batch)


def entered_where_it_is_built(model, batch):
    switched_on()
    return model(batch)
