"""Explains an error about dtypes that ended a run: its operands, where each comes from, which region was open."""
