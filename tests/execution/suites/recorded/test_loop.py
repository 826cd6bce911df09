import pytest
import torch

from loop import Trainer, train, train_right, train_with_errors


def test_the_wrong_loop_of_the_project():
    train(Trainer(), unscales=False)


def test_the_right_loop_of_the_project():
    train(Trainer(), unscales=True)
    train_right(Trainer())


def test_a_wrong_order_by_the_test_itself():
    trainer = Trainer()
    trainer.backward()
    trainer.clip()
    trainer.step()


def test_a_wrong_loop_in_the_test():
    trainer = Trainer()
    for _ in range(2):
        trainer.backward()
        torch.nn.utils.clip_grad_norm_(trainer.model.parameters(), 1.0)
        trainer.step()


def test_an_error_that_is_expected():
    with pytest.raises(RuntimeError, match="already been called"):
        train_with_errors(Trainer())
