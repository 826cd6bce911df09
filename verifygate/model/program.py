"""A program of the project that trains, as it was found in the source: nothing of it was run to know this."""

from __future__ import annotations

from verifygate.model.base import Model


class Program(Model):
    """A command that trains, with settings that make it short, and what keeps it from running as it stands."""

    command: str
    """`python train.py --epochs 1 --batch-size 4`; of its options, only what the program declares."""
    full_size: str = ""
    """The same command with the model and its inputs as large as by default; empty where it says nothing of them."""
    path: str
    """The file whose training step it reaches."""
    line: int
    """Where that step stands: a backward, or the call of a framework that runs one."""
    step: str
    """That line, as it is written."""
    needs_cuda: bool
    """Whether what it runs speaks of CUDA, so that a machine without it emulates it."""
    obstacles: tuple[str, ...] = ()
    """Why it cannot run as it stands, or should not without a person: `needs --data PATH`, `downloads: data.py:12`."""

    @property
    def setting(self) -> str:
        """The key of `[execution.oracles]` that it belongs under."""
        return "emulated_entries" if self.needs_cuda else "entries"

    @property
    def runs(self) -> bool:
        """Whether nothing is known that keeps it from running as it stands."""
        return not self.obstacles
