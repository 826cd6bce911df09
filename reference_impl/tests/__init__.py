"""Tests of the reference training program; each fails without the behaviour that its name states."""
