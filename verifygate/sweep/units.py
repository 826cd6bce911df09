"""The list of a sweep: which folders, at which commits, by which rules.

One unit a line, `PATH[@COMMIT][#RULES]`, where a line that begins with `#` is a comment; or TOML:

    [[unit]]
    path = "../trainer"
    commit = "v1.2"
    rules = ["AMP2", "KEY101"]

Paths are relative to the folder of the list.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from verifygate.base.errors import UsageError
from verifygate.base.regular_files import TooLargeError, read_argument
from verifygate.config.documents import read_toml
from verifygate.model.base import Model

MAX_LIST_BYTES = 16 * 1024 * 1024
SECONDS = 600.0
"""Wall-clock time after which the analysis of a unit is ended."""


class Unit(NamedTuple):
    """What one worker answers at a time: one folder, or what one commit holds of it."""

    name: str
    """As the list writes it."""
    path: str
    """The absolute path of the folder."""
    commit: str = ""
    """A revision as git understands it; empty for the files as they lie there."""
    rules: tuple[str, ...] = ()
    """Codes, families or names; empty for all."""
    seconds: float = SECONDS


class _Entry(Model):
    path: str
    commit: str = ""
    rules: tuple[str, ...] = ()


class _List(Model):
    unit: tuple[_Entry, ...]


def read_list(file: Path, shown: str, seconds: float = SECONDS) -> tuple[Unit, ...]:
    """The units of a list, in its order. Raises UsageError with the line for what cannot be meant."""
    entries = _of_toml(file, shown) if file.suffix == ".toml" else _of_lines(file, shown)
    units: dict[str, Unit] = {}
    for where, entry in entries:
        name = name_of(entry.path, entry.commit, entry.rules)
        if "\0" in name or not entry.path:
            raise UsageError("no path of a folder", where=where, remedy="write PATH[@COMMIT][#RULES]")
        if name in units:
            raise UsageError(f"the unit `{name}` stands in the list twice", where=where, remedy="keep one of them")
        _refuse_unknown(entry.rules, where)
        try:
            path = (file.resolve().parent / Path(entry.path).expanduser()).as_posix()
        except RuntimeError:  # `~somebody`
            raise UsageError(
                f"`{entry.path}` is in the home of nobody known here", where=where, remedy="write the path out"
            ) from None
        units[name] = Unit(name, path, entry.commit, entry.rules, seconds)
    if not units:
        raise UsageError("the list has no unit", where=shown, remedy="write one folder or repository a line")
    return tuple(units.values())


def name_of(path: str, commit: str, rules: tuple[str, ...]) -> str:
    """`PATH@COMMIT#RULES`, without what is not given."""
    return path + (f"@{commit}" if commit else "") + (f"#{','.join(rules)}" if rules else "")


def _of_toml(file: Path, shown: str) -> Iterator[tuple[str, _Entry]]:
    document = read_toml(file, shown)
    for number, entry in enumerate(document.validate(_List).unit):
        yield document.place(("unit", number)), entry


def _of_lines(file: Path, shown: str) -> Iterator[tuple[str, _Entry]]:
    try:
        text = read_argument(file, MAX_LIST_BYTES).decode("utf-8-sig")
    except TooLargeError:
        raise UsageError("larger than 16 MiB", where=shown, remedy="split the list") from None
    except OSError as error:
        raise UsageError(f"cannot be read: {error.strerror}", where=shown, remedy="name a file with a list") from None
    except UnicodeDecodeError:
        raise UsageError("not UTF-8 text", where=shown, remedy="save it as UTF-8") from None
    for number, line in enumerate(text.splitlines(), 1):
        words = line.strip()
        if not words or words.startswith("#"):
            continue
        place, _, rules = words.partition("#")
        path, _, commit = place.strip().partition("@")
        chosen = tuple(word for word in rules.replace(",", " ").split())
        yield f"{shown}:{number}", _Entry(path=path.strip(), commit=commit.strip(), rules=chosen)


def _refuse_unknown(rules: tuple[str, ...], where: str) -> None:
    """A rule that does not exist finds nothing, in each of a thousand repositories."""
    if not rules:
        return
    from verifygate.static.registry import chosen

    try:
        chosen(rules, ())
    except UsageError as error:
        raise UsageError(error.problem, where=where, remedy=error.remedy) from None
