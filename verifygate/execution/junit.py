"""A JUnit file that the run was told to write: never a source, only held against what the gate itself saw.

Anything in the run's process can write such a file, also after pytest did.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from verifygate.base.regular_files import open_regular

MAX_BYTES = 256 * 1024
OPTIONS = ("--junitxml", "--junit-xml")
_SUITE = re.compile(rb"<testsuite\b[^>]*>")
_COUNT = re.compile(rb"""\b(failures|errors)\s*=\s*["'](\d{1,9})["']""")


def contradiction(root: Path, arguments: Sequence[str], bad: int) -> str:
    """How the file that `arguments` ask for differs from a run in which `bad` tests did not pass.

    Empty where there is no such file or it tells the same. Only the first elements are looked at, without an XML
    parser: the file may be anything.
    """
    name = _name(arguments)
    if not name:
        return ""
    path = root / name
    try:
        with open_regular(path) as file:
            head = file.read(MAX_BYTES)
    except OSError:
        return f"the JUnit file {name} was not written"
    suite = _SUITE.search(head)
    if suite is None:
        return f"{name} is no JUnit file"
    told = sum(int(number) for _, number in _COUNT.findall(suite[0]))
    if bool(told) == bool(bad):
        return ""
    return f"the JUnit file {name} tells of {told} failures and errors, the run itself of {bad}"


def _name(arguments: Sequence[str]) -> str:
    """The file that the last such option names."""
    name, words = "", iter(arguments)
    for word in words:
        option, equals, value = word.partition("=")
        if option in OPTIONS:
            name = value if equals else next(words, "")
    return name
