"""Changed by its own test."""

STEPS = 10
