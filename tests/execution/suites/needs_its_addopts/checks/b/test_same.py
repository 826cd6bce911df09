"""The same base name as its neighbour: only importlib mode can import both."""


def test_house(house):
    assert house == 42
