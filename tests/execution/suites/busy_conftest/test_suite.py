from conftest import SET_UP


def test_fixtures_are_set_up_once():
    assert SET_UP == [1]


def test_slow_thing():
    assert False
