"""Cases of the rules that are written otherwise get the same answers, or say what is not followed in them."""

from __future__ import annotations

import pytest
from rewritten_cases import WAYS, differences

EVERY = 20
"""Of so many cases one is looked at: `rewritten_cases.py` goes through all."""
KNOWN = {
    ("annotations taken away", "AMP201/bad_interface"): "which class of an interface comes in, nothing else says",
    (
        "a variable for what was chained",
        "AMP401/bad_of_a_library",
    ): "likely only: what is cast has another name",
}
"""Way and case -> why the answer is another one."""


@pytest.mark.parametrize("way", WAYS)
def test_what_is_found_does_not_depend_on_how_it_is_written(way: str):
    found = [each for each in differences(EVERY, (way,)) if not each[1].startswith("PERF")]
    assert [each for each in found if each[:2] not in KNOWN] == []
