import unittest

import pytest
import torch
from model import Model


def test_forward():
    assert Model()(torch.ones(4, 8)).shape == (4, 2)


def test_parts_in_half():
    x = torch.ones(4, 8)
    model = Model().to(torch.bfloat16)
    model.head(x)


def test_a_line_that_draws():
    torch.manual_seed(0)
    Model().head(torch.nn.functional.dropout(torch.ones(4, 8, dtype=torch.bfloat16)))


def test_nothing_is_drawn_again():
    drawn = torch.rand(4)
    torch.manual_seed(0)
    Model()
    torch.nn.functional.dropout(torch.ones(4, 8, dtype=torch.bfloat16))
    assert torch.equal(drawn, torch.rand(4))


class TestModel(unittest.TestCase):
    def test_forward(self):
        self.assertEqual(Model()(torch.ones(4, 8)).shape, (4, 2))


def test_the_error_is_expected():
    with pytest.raises(RuntimeError):
        Model()(torch.ones(4, 8))


@pytest.mark.xfail
def test_it_is_known():
    Model()(torch.ones(4, 8))


def test_another_error():
    Model().body(torch.ones(4, 3))
