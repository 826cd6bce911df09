"""Contexts that a test builds to see the constructor refuse its arguments, or warn of them."""

import unittest

import pytest
import torch


class TestAutocast(unittest.TestCase):
    def test_device_type_is_text(self):
        with self.assertRaisesRegex(ValueError, "Expected `device_type` of type `str`"):
            torch.autocast(torch.device("cpu"))


def test_unknown_device_type():
    with pytest.raises(RuntimeError, match="unsupported"):
        torch.autocast("quantum")


def test_old_name_warns():
    with pytest.warns(FutureWarning):
        torch.cuda.amp.autocast()
