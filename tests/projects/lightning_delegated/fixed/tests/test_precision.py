"""Tests of the choice of precision."""

import itertools

import pytest

from training.precision import compute_effective_precision


@pytest.mark.requirement("AMP-07")
@pytest.mark.parametrize("precision", ["16", "32"])
def test_the_requested_precision_is_kept_when_nobody_says_otherwise(precision):
    assert compute_effective_precision(precision, None, cuda_available=False, use_gpu=True) == precision


@pytest.mark.requirement("AMP-07")
def test_amp_switched_off_means_float32():
    for cuda_available, use_gpu in itertools.product([True, False], repeat=2):
        assert compute_effective_precision("16", False, cuda_available, use_gpu) == "32"


@pytest.mark.requirement("AMP-08")
@pytest.mark.parametrize(
    ("cuda_available", "use_gpu", "expected"),
    [(True, True, "16"), (True, False, "32"), (False, True, "32"), (False, False, "32")],
)
def test_amp_needs_a_gpu_that_may_be_used(cuda_available, use_gpu, expected):
    assert compute_effective_precision("32", True, cuda_available, use_gpu) == expected
