"""Numeric health of a run: how near half precision is to its limits, what it lost, which parameters move."""
