def test_good():
    assert True


def test_bad():
    raise AssertionError
