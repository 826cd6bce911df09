"""Contexts that are entered, sooner or later, once at a time."""

from contextlib import ExitStack, contextmanager, nullcontext

import torch


def stored_and_entered_each_turn(model, loss_fn, batches, amp):
    context = torch.autocast("cuda") if amp else nullcontext()
    for inputs, targets in batches:
        with context:
            loss = loss_fn(model(inputs), targets)
        loss.backward()


def handed_out(dtype):
    context = torch.autocast("cuda", dtype=dtype)
    return context, dtype


def on_a_stack(model, inputs):
    with ExitStack() as stack:
        stack.enter_context(torch.autocast("cuda"))
        return model(inputs)


@contextmanager
def half():
    with torch.autocast("cuda"):
        yield


@torch.autocast("cuda")
def forward(model, inputs):
    return model(inputs)


def one_after_the_other(encoder, decoder, inputs):
    context = torch.autocast("cuda")
    with context:
        hidden = encoder(inputs)
    with context:
        return decoder(hidden)


def two_instances(encoder, decoder, inputs):
    with torch.autocast("cuda"):
        hidden = encoder(inputs)
        with torch.autocast("cuda"):
            return decoder(hidden)


def in_a_nested_function(model):
    context = torch.autocast("cuda")

    def run(inputs):
        with context:
            return model(inputs)

    return run


def whatever_there_is_or_autocast(model, inputs, given=None):
    with given or torch.autocast("cuda"):
        return model(inputs)
