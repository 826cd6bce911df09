def test_fine():
    assert True


def test_fails():
    assert 1 == 2
