"""Cases of the rules that are written otherwise get the same answers, or say what is not followed in them."""

from __future__ import annotations

import pytest
from rewritten_cases import WAYS, differences

EVERY = 20
"""Of so many cases one is looked at: `rewritten_cases.py` goes through all."""


@pytest.mark.parametrize("way", WAYS)
def test_what_is_found_does_not_depend_on_how_it_is_written(way: str):
    assert [each for each in differences(EVERY, (way,)) if not each[1].startswith("PERF")] == []
