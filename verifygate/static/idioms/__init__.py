"""Recognisers for libraries and habits, each asked for by a few rules."""
