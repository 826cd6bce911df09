"""One test passes, two fail: one in the test itself, one in the code it calls; a fixture fails as well."""

import pytest
from training import summary


@pytest.fixture
def broken():
    raise RuntimeError("no such fixture data")


def test_fine():
    assert True


def test_own_fault():
    value = 2
    assert value == 3, "the value is wrong"


def test_called_fault():
    env = {"train_loader": []}
    assert summary(env) == 0


def test_fixture_fault(broken):
    assert broken
