"""A library scales the loss; the region around its backward, and around the step, is the project's."""

from contextlib import nullcontext

from accelerate import Accelerator

accelerator = Accelerator(mixed_precision="fp16")


def indented_too_far(model, optimizer, loss_fn, batches):
    for inputs, targets in batches:
        with accelerator.autocast():
            loss = loss_fn(model(inputs), targets)
            accelerator.backward(loss)  # expect: AMP101
        optimizer.step()
        optimizer.zero_grad()


class Loop:
    def __init__(self, settings):
        self.settings = settings
        self.accelerator = Accelerator()

    @property
    def by_library(self):
        return self.settings.library

    def step(self, loss, optimizer):
        if self.by_library:
            region = self.accelerator.autocast if self.settings.mixed else nullcontext
            with region():
                self.accelerator.backward(loss)  # expect: AMP101
        else:
            loss.backward()
        optimizer.step()
