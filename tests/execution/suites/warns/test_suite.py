"""Raises the warning that torch gives for its old AMP interface, twice from one place, and another one."""

import warnings


def old_scaler():
    warnings.warn(
        "`torch.cuda.amp.GradScaler(args...)` is deprecated. Please use `torch.amp.GradScaler('cuda', args...)` instead.",
        FutureWarning,
        stacklevel=1,
    )


def test_twice():
    old_scaler()


def test_again():
    old_scaler()


def test_other():
    warnings.warn("something else", UserWarning, stacklevel=1)
