from pathlib import Path

from train import train


def test_trains():
    train(Path(__file__).with_name("accelerate.yaml"), 2)
