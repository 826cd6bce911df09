"""Holds nothing of AMP, and what a requirement asks for."""


# requirement: AMP-07
def rate():
    return 1
