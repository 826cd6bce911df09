"""The second test crashes the interpreter."""

import ctypes


def test_fine():
    assert True


def test_crashes():
    ctypes.string_at(0)
