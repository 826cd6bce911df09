def test_fine():
    assert 1 == 1
