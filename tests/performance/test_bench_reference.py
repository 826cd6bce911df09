"""What bench_reference compares is the same work: all loops end with the same weights."""

from __future__ import annotations

import bench_reference
import pytest
import torch


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # Lightning's and Accelerate's, which the benchmark does not ask about
@pytest.mark.parametrize("precision", ["fp32", "bf16"])
def test_every_loop_trains_the_same(precision: str) -> None:
    """Four programs, one training: after three steps no weight differs by more than rounding does."""
    bench_reference.quiet()
    loops = {name: make(precision) for name, make in bench_reference.LOOPS.items()}
    start = loops["reference_impl"].weights()
    assert all(torch.equal(loop.weights(), start) for loop in loops.values())
    for loop in loops.values():
        assert loop.run(3) > 0
    end = loops["reference_impl"].weights()
    assert not torch.allclose(end, start)
    for name, loop in loops.items():
        assert torch.allclose(loop.weights(), end, rtol=1e-3, atol=1e-4), name
