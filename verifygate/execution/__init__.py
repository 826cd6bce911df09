"""The execution stage: run the project's own tests in a child process and tell the truth about what happened.

The truth comes from a plugin inside the run (verifygate.instrument.pytest_plugin.stream), is cross-checked with how the
process ended, and never comes from pytest's output or exit code alone.
"""

from verifygate.execution.stage import ExecutionStage

__all__ = ["ExecutionStage"]
