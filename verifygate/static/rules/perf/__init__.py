"""Hazards in hot loops: advice, unless a benchmark confirms it."""
