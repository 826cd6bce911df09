from loop import Trainer


def test_name():
    assert Trainer.__name__ == "Trainer"
