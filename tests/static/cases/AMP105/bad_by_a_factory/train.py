"""Contexts of autocast that functions of the project build, over tensors elsewhere."""

from precision import Precision, half


def by_a_method(model, batches, precision: Precision):
    model = model.cuda()
    for batch in batches:
        with precision.autocast():  # expect: AMP105
            model(batch.cuda()).mean()


def by_a_function(model, batches):
    model = model.to("cpu")
    for batch in batches:
        with half():  # expect: AMP105
            model(batch.to("cpu")).mean()
