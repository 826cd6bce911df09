"""The options of `verifygate check`, and how plain arguments are read without click: loading it takes a while."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from verifygate.base.errors import UsageError
from verifygate.report.formats import check_formats

STDIN = "-"
"""The path that stands for the text on standard input."""


class Output(NamedTuple):
    """A format, and the file that gets it; an empty one is standard output."""

    format: str = "text"
    file: str = ""


class CheckOptions(NamedTuple):
    """The options of the command line."""

    paths: tuple[str, ...] = ()
    outputs: tuple[Output, ...] = (Output(),)
    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    config: Path | None = None
    cached: bool = True
    """Whether an earlier answer will do."""
    timed: bool = False
    """Whether to print where the CPU time went."""
    since: str = ""
    """A revision: what stood where this tree left it is not reported."""
    fail_on: str = ""
    """`SEVERITY[,certainty]`: less than that does not fail."""
    exit_zero: bool = False
    """Whether findings leave the exit code at 0."""
    stdin_filename: str = ""
    """The file whose text is on standard input."""
    jobs: int = 0
    """Processes at most; 0 for as many as there are cores, where that pays."""
    abstract_run: bool = False
    """Whether programs are also run on the abstract machine."""


_FLAGS = ("--no-cache", "--timings", "--exit-zero", "--abstract-run")
_VALUES = ("--format", "--output", "--config", "--select", "--ignore", "--since", "--fail-on", "--stdin-filename")
_NUMBERS = ("--jobs",)


def plain_options(arguments: Sequence[str]) -> CheckOptions | None:
    """The options behind plain arguments; None for what click is to read, or to refuse."""
    paths: list[str] = []
    given: dict[str, list[str]] = {name: [] for name in (*_VALUES, *_NUMBERS)}
    formats: list[tuple[str, str]] = []
    flags: set[str] = set()
    words = iter(arguments)
    for word in words:
        name, equals, value = word.partition("=")
        if not word.startswith("-") or word == STDIN:
            paths.append(word)
        elif word in _FLAGS:
            flags.add(word)
        elif name not in given:
            return None
        else:
            given[name].append(value if equals else next(words, ""))
            formats.append((name, given[name][-1]))
    if not all(value.strip(" ,") and not value.startswith("-") for values in given.values() for value in values):
        return None
    if not set(given["--format"]) <= set(check_formats()):
        return None
    try:
        outputs = paired(formats)
    except UsageError:
        return None
    if not all(value.isascii() and value.isdigit() for name in _NUMBERS for value in given[name]):
        return None
    last = {name: values[-1] if values else "" for name, values in given.items()}
    return CheckOptions(
        tuple(paths),
        outputs,
        words_in(given["--select"]),
        words_in(given["--ignore"]),
        Path(last["--config"]) if last["--config"] else None,
        cached="--no-cache" not in flags,
        timed="--timings" in flags,
        since=last["--since"],
        fail_on=last["--fail-on"],
        exit_zero="--exit-zero" in flags,
        stdin_filename=last["--stdin-filename"],
        jobs=int(last["--jobs"] or 0),
        abstract_run="--abstract-run" in flags,
    )


def paired(options: Iterable[tuple[str, str]]) -> tuple[Output, ...]:
    """The outputs that `--format` and `--output`, in the order of the command line, ask for.

    `--output FILE` writes the format that was named just before it, text where none was. A format without a file is
    printed. Raises UsageError where two would be printed, or two be written to one file.
    """
    outputs: list[Output] = []
    for name, value in options:
        if name == "--format":
            outputs.append(Output(value))
        elif name == "--output":
            if outputs and not outputs[-1].file:
                outputs[-1] = Output(outputs[-1].format, value)
            elif not outputs:
                outputs.append(Output(file=value))
            else:
                raise UsageError(
                    "has no format of its own", where=f"--output {value}", remedy="write `--format FORMAT` before it"
                )
    places = [each.file for each in outputs]
    for each in outputs:
        if places.count(each.file) > 1:
            both = " and ".join(other.format for other in outputs if other.file == each.file)
            raise UsageError(
                f"{both} would go to {f'`{each.file}`' if each.file else 'standard output'} together",
                where="--format",
                remedy="write `--output FILE` behind a format that is to go to a file of its own",
            )
    return tuple(outputs) or (Output(),)


def words_in(values: Iterable[str]) -> tuple[str, ...]:
    """`--select AMP2,KEY101 --select PERF` as one list."""
    return tuple(word for value in values for word in value.replace(",", " ").split())
