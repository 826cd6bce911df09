"""Many tests that take their time; none of them hangs."""

import time

import pytest


@pytest.mark.parametrize("number", range(1000))
def test_takes_its_time(number):
    time.sleep(0.05)
