import pytest


@pytest.mark.xfail(reason="known")
def test_fails_as_expected():
    raise AssertionError
