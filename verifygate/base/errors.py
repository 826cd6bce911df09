"""The errors that reach a user, each as one line: where, what, and what to do about it."""

from __future__ import annotations


class VerifygateError(Exception):
    """Base of every error that the command line turns into a message and an exit code."""

    exit_code = 3


class UsageError(VerifygateError):
    """The user gave something that cannot be used: a wrong option, a broken file, a missing path.

    `where` is a path, or `path:line`, relative to the folder the user works in; `remedy` says what to do.
    """

    exit_code = 2

    def __init__(self, problem: str, *, where: str | None = None, remedy: str | None = None) -> None:
        self.problem = " ".join(problem.split())
        self.where = where
        self.remedy = remedy
        super().__init__(str(self))

    def __str__(self) -> str:
        head = f"{self.where}: {self.problem}" if self.where else self.problem
        return f"{head} ({self.remedy})" if self.remedy else head
