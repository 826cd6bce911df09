from loop import Trainer


def test_trains():
    trainer = Trainer()
    for _ in range(2):
        trainer.step(unscales=False)
