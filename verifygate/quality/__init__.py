"""Measuring the rules, and generating the documentation: not part of the gate."""
