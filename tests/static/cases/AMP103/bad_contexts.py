"""Contexts that never cover what they are for."""

from functools import partial

import torch
from torch.cuda.amp import autocast


def built_and_dropped(model, loss_fn, batches):
    for inputs, targets in batches:
        torch.autocast("cuda")  # expect: AMP103
        loss_fn(model(inputs), targets).backward()


def kept_for_nobody(model, inputs):
    context = torch.autocast("cuda", dtype=torch.bfloat16)  # noqa: F841  # expect: AMP103
    return model(inputs)


def partial_dropped(model, inputs):
    half = partial(torch.autocast, "cuda")
    half()  # expect: AMP103
    return model(inputs)


@autocast()  # expect: AMP103
def outputs_one_by_one(model, loader):
    for inputs in loader:
        yield model(inputs)


@torch.autocast("cuda")  # expect: AMP103
async def served(model, queue):
    return model(await queue.get())


class Net(torch.nn.Module):
    @autocast  # expect: AMP103
    def forward(self, inputs):
        return inputs


def inside_itself(encoder, decoder, inputs):
    context = torch.autocast("cuda")
    with context:
        hidden = encoder(inputs)
        with context:  # expect: AMP103
            return decoder(hidden)


def only_the_last_of_two(model, inputs, training):
    with torch.autocast("cuda") and (torch.enable_grad() if training else torch.no_grad()):  # expect: AMP103
        return model(inputs)
