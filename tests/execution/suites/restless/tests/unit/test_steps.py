"""A file of the same name as another one."""

import steps


def test_steps():
    assert steps.double(3) == 6
