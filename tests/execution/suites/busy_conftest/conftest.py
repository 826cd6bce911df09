"""Honest hooks that look closely at the test, as many projects have them."""

import pytest

SET_UP = []


def pytest_runtest_setup(item):
    if "slow" in item.function.__name__:
        pytest.skip("slow")


@pytest.fixture(autouse=True, scope="session")
def once():
    SET_UP.append(1)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    report = yield
    report.note = item.module.__name__
    return report
