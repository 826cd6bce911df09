def test_house(house):
    assert house == 42
