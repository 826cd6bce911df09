"""What a person sees of what is going on: one line with the time on a terminal, a line for each stage in a log."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

STAGE = "["
"""How the text begins that says which of how many stages begins: `[2/4] static`."""


@contextmanager
def progress_line(*, logged: bool = False, quiet: bool = False) -> Iterator[Callable[[str], None]]:
    """Gives a function that shows its text, and how long it has taken, in one line, which goes away at the end.

    Without a terminal there is nothing, or, where it is `logged`, a line for each stage that begins. Where it is
    `quiet`, something else is written to the terminal meanwhile.
    """
    from rich.console import Console

    console = Console(stderr=True)
    if quiet or not console.is_terminal:
        yield _log if logged else lambda _text: None
        return
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = (SpinnerColumn(), TimeElapsedColumn(), TextColumn("{task.description}", markup=False))
    with Progress(*columns, console=console, transient=True) as shown:
        task = shown.add_task("starting", total=None)
        yield lambda text: shown.update(task, description=text)


def _log(text: str) -> None:
    if text.startswith(STAGE):
        print(f"verifygate: {text}", file=sys.stderr, flush=True)
