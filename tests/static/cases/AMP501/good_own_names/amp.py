"""The project's own module of that name: `from cuda.amp import autocast` would be no torch either."""

from contextlib import nullcontext


def autocast(enabled=True):
    return nullcontext(enabled)


class GradScaler:
    def scale(self, loss):
        return loss
