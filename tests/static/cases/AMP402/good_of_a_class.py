"""Sums that run where a class is defined: nothing stands around them that a function would know of."""

import pytest
import torch


class TestLog:
    @pytest.mark.parametrize("value", [1.5 + 1e-8, 2.5 + 3e-8])
    def test_log(self, value):
        with torch.autocast("cuda"):
            assert torch.log(torch.full((2,), value)).isfinite().all()
