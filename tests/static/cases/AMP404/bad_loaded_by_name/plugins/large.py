"""One of the models."""

from plugins.head import Head


def build():
    return Head()
