"""A workload's module that needs something that is not installed."""

import a_module_that_nobody_has  # noqa: F401


def build(precision, seed, device="cpu"):
    raise AssertionError("never reached")
