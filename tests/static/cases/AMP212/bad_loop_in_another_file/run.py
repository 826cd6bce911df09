"""The loop over the batches, without a word of training in it."""

from engine import Engine


def run(model, batches):
    engine = Engine(model)
    for batch in batches:
        engine.do_pass(batch)
