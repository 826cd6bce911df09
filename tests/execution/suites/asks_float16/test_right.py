from loop import Trainer


def test_trains():
    trainer = Trainer()
    for _ in range(2):
        trainer.step(unscales=True)


def test_holds_on_a_cpu_alone():
    trainer = Trainer()
    trainer.step(unscales=True)
    assert trainer.device == "cpu"


def test_has_nothing_to_do_with_amp():
    assert Trainer.__name__ == "Trainer"
