"""Recognisers of libraries and habits, each queried by a few rules."""
