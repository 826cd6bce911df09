"""Faults put into the right programs, one each: the same styles, and a finding that is owed."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

HERE = Path(__file__).parent
RIGHT = HERE / "right"


class Break(NamedTuple):
    """One edit of a right program. `after` marks the line at fault with `# expect: CODE`."""

    program: str
    before: str
    after: str

    @property
    def name(self) -> str:
        code = self.after.partition("# expect: ")[2].split()[0].lower()
        return f"{code}_{self.program}"

    def text(self) -> str:
        """The faulty program."""
        source = (RIGHT / f"{self.program}.py").read_text(encoding="utf-8")
        assert self.before in source, self
        return source.replace(self.before, self.after, 1)


def named() -> Iterator[tuple[str, Break]]:
    """Every fault by a name of its own."""
    seen: dict[str, int] = {}
    for entry in tomllib.loads((HERE / "breaks.toml").read_text(encoding="utf-8"))["break"]:
        each = Break(**entry)
        seen[each.name] = seen.get(each.name, 0) + 1
        yield each.name + (f"_{seen[each.name]}" if seen[each.name] > 1 else ""), each
