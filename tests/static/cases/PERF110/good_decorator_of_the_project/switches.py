import functools

import torch

NEW = hasattr(torch, "inference_mode")


def evaluation_mode(new=NEW):
    def decorate(function):
        return (torch.inference_mode if new else torch.no_grad)()(function)

    return decorate


def quietly(function):
    @functools.wraps(function)
    def run(*given, **named):
        with torch.no_grad():
            return function(*given, **named)

    return run


def twice(function):
    return quietly(function)


class Quiet:
    def __call__(self, function):
        covered = torch.no_grad()(function)
        return covered
