import training


def test_fine():
    assert training.SCALE
