import amp_step
import marked
import plain
import pytest


@pytest.mark.parametrize("loss", [1, 2])
@pytest.mark.requirement("AMP-01")
def test_step(loss):
    assert amp_step.step(2, loss) == 2 * loss


def test_trainer():
    assert amp_step.Trainer(2).run([1, 2]) == [2, 4]


def test_empty_run():
    assert amp_step.Trainer(2).run() == []


def test_plain():
    assert plain.helper() == marked.rate() == 1
