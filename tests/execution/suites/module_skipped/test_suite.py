import pytest

pytest.importorskip("a_module_that_nobody_has", reason="a_module_that_nobody_has is not installed")


def test_hidden():
    assert False
