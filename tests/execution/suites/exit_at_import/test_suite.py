"""Importing this ends the process with exit code 0."""

import os

os._exit(0)


def test_never_reached():
    assert True
