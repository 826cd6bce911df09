"""Finds the programs of a project that train, and the settings that make a run of them small. Nothing of it runs."""

from verifygate.programs.find import found_functions, found_programs

__all__ = ["found_functions", "found_programs"]
