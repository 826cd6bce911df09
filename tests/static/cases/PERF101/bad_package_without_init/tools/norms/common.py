"""A helper in folders without `__init__.py`, which are packages all the same."""


def norm_of(parameters):
    total = 0.0
    for parameter in parameters:
        total += parameter.grad.norm().item() ** 2  # expect: PERF101 likely
    return total**0.5
