def test_fails():
    assert 1 == 2
