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
