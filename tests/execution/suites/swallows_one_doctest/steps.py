def step():
    """One step.

    >>> step()
    2
    """
    return 1


def other():
    """Another.

    >>> other()
    1
    """
    return 1
