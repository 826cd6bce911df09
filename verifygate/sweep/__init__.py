"""Variant analysis: the same rules over many repositories, on one machine or on many."""
