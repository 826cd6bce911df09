"""Holds nothing of interest."""


def helper():
    return 1
