"""The bench for growth is a script; what is tested is that its programs hold what they say, and how it tells costs."""

from __future__ import annotations

import bench_growth
import pytest


def test_exponent_is_the_power_by_which_a_cost_grows():
    assert bench_growth.exponent(1.0, 2.0) == 1.0
    assert bench_growth.exponent(1.0, 4.0) == 2.0


@pytest.mark.slow
def test_one_finding_for_each_faulty_loop_and_none_in_the_other_programs():
    counts = {name: bench_growth.measured(build(2))[1] for name, build in bench_growth.DIMENSIONS.items()}

    assert counts == dict.fromkeys(counts, 0) | {"findings": bench_growth.IN_ALL}


def test_every_size_is_told_and_the_exponent_of_the_last_doubling():
    first, *parts = bench_growth.rows("loops in a file", [1, 2], above=-10.0)

    assert first.startswith("loops in a file: 1: ")
    assert "2: " in first
    assert "; exponent " in first
    assert all("; exponent " in each for each in parts)
