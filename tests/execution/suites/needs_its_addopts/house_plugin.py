"""A plugin that the tests cannot do without."""

import pytest


@pytest.fixture
def house():
    return 42
