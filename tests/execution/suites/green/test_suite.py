"""Two tests that pass."""


def test_one():
    assert 1 + 1 == 2


def test_two():
    assert "a" < "b"
