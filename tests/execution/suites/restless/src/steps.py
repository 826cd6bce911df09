"""What the tests are about."""

import warnings


def double(number):
    """Twice a number.

    >>> double(2)
    4
    """
    return 2 * number


def refuse(number):
    assert number >= 0, "no negative steps"
    return number


def old_name(number):
    warnings.warn("use double", DeprecationWarning, stacklevel=2)
    return double(number)
