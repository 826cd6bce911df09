"""Sums that run where a class is defined: nothing stands around them that a function would know of."""

import pytest
import torch


class TestLog:
    @pytest.mark.parametrize("value", [1.5 + 1e-8, 2.5 + 3e-8])
    def test_log(self, value):
        with torch.autocast("cuda"):
            assert torch.log(torch.full((2,), value)).isfinite().all()


class Doubled(torch.nn.Module):
    """What is made of itself is no number."""

    def __init__(self, small):
        super().__init__()
        self.small = self.small * self.small + self.small
        self.small_too = small

    def forward(self, x, y):
        tiny = tiny + tiny * tiny
        return torch.log(self.small_too * x + self.small) + torch.log(torch.matmul(x, y) + tiny)
