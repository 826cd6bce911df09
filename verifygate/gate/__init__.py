"""Run the stages, merge, compare, decide."""
