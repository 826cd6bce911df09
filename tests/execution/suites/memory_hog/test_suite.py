"""The second test asks for 2 GiB at once."""


def test_fine():
    assert True


def test_hoards():
    assert bytearray(2 << 30)
