def test_fails():
    assert False
