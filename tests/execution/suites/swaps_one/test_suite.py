def test_fine():
    assert True


def test_step():
    assert 1 == 2
