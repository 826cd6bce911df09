"""Whole-program facts that rules ask for: dtypes, hot loops, checkpoints, dict keys."""
