"""The cases of the static rules, and what comes of running them on this installation.

A case is a file or a folder: a bad one marks each line that its rule must report with `# expect: CODE`, a good one has
no mark, and nothing else may be reported by that rule. The examples of a rule's documentation are cases as well.
"""

from __future__ import annotations

import hashlib
import re
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from verifygate.base.lifeline import temporary_folder
from verifygate.config.settings import StaticSettings
from verifygate.quality.qualification.identification import PACKAGE
from verifygate.sources.configuration_file import ConfigurationFile
from verifygate.sources.discovery import read_sources
from verifygate.sources.file import SourceFile
from verifygate.sources.tree import Sources
from verifygate.static.engine import analyse
from verifygate.static.rule import LoadedRule

PACKED = Path(__file__).with_name("cases.zip")
"""In an installed package; a checkout has the folder instead."""
IN_CHECKOUT = PACKAGE.parent / "tests" / "static" / "cases"
_EXPECT = re.compile(r"#.*\bexpect: (?P<code>[A-Z]+\d+)(?: (?P<certainty>certain|likely))?")
_BLOCK = re.compile(r"```(?P<language>python|yaml)\n(?P<text>.*?)```", re.DOTALL)
_WITH_ALL_RULES = "GATE"
"""Rules about suppressions: one is unused only where its own rule ran."""

Found = list[tuple[str, int, str, str]]
"""(path, line, code, certainty) of each finding, in order."""


@dataclass(frozen=True)
class Case:
    """One case of a rule."""

    code: str
    path: Path

    @property
    def is_bad(self) -> bool:
        return self.path.name.startswith("bad_")

    @property
    def name(self) -> str:
        return f"{self.code}/{self.path.name}"

    @property
    def test(self) -> str:
        """The id of the test in the source repository that runs it."""
        return f"tests/static/test_rule_cases.py::test_case[{self.code}-{self.path.stem}]"

    @property
    def digest(self) -> str:
        """sha256 over the path and sha256 of each of its files."""
        whole = hashlib.sha256()
        for file in _files(self.path):
            name = file.relative_to(self.path.parent).as_posix()
            whole.update(f"{name}\0{hashlib.sha256(file.read_bytes()).hexdigest()}\n".encode())
        return whole.hexdigest()


@contextmanager
def cases_at_hand() -> Iterator[tuple[Case, ...] | None]:
    """The cases that come with this installation; None where it has none."""
    if PACKED.is_file():
        with temporary_folder("cases") as folder:
            with zipfile.ZipFile(PACKED) as archive:
                archive.extractall(folder)
            yield read_cases(Path(folder).resolve())
    elif IN_CHECKOUT.is_dir():
        yield read_cases(IN_CHECKOUT)
    else:
        yield None


def read_cases(folder: Path) -> tuple[Case, ...]:
    """The cases below a folder, which has one folder for each rule, in order."""
    paths = (path for path in sorted(folder.glob("*/*")) if path.name.startswith(("bad_", "good_")))
    return tuple(Case(path.parent.name, path) for path in paths)


def problem_of(case: Case) -> str:
    """How the answer on a case differs from what it asks for; empty where it does not."""
    root, names = (case.path, ["."]) if case.path.is_dir() else (case.path.parent, [case.path.name])
    rules = () if case.code.startswith(_WITH_ALL_RULES) else (case.code,)
    outcome = analyse(read_sources(root, names), StaticSettings(select=rules), merged=False)
    if outcome.not_analysed:
        return f"not analysed: {outcome.not_analysed[0].path}"
    found = sorted(
        (each.path, each.line, each.rule, each.certainty.value) for each in outcome.findings if each.rule == case.code
    )
    wanted = _expected(root, case.path)
    if case.is_bad and not wanted:
        return "no line of it says what to report"
    return _difference(found, wanted)


def examples_of(loaded: LoadedRule) -> dict[str, Sources]:
    """Title of a section of the documentation -> the program in it, or the configuration that is one."""
    sections = {title: _BLOCK.search(loaded.sections.get(title, "")) for title in ("Example", "Use instead")}
    return {title: example(*match.groups()) for title, match in sections.items() if match is not None}


def example(language: str, text: str) -> Sources:
    """One block of a documentation, as a project of one file."""
    if language == "yaml":
        return Sources((), configuration=[ConfigurationFile("example.yaml", data=text.encode())])
    return Sources([SourceFile("example.py", text.encode())])


def problem_of_example(code: str, title: str, sources: Sources) -> str:
    """How the answer on an example differs from what the documentation says; empty where it does not."""
    outcome = analyse(sources, StaticSettings())
    reported = any(each.rule == code for each in outcome.findings)
    if reported == (title == "Example"):
        return ""
    return "it is reported" if reported else "it is not reported"


def _expected(root: Path, case: Path) -> Found:
    """What the marks in a case ask for."""
    found = []
    for file in _files(case):
        for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1):
            if mark := _EXPECT.search(line):
                name = file.relative_to(root).as_posix()
                found.append((name, number, mark["code"], mark["certainty"] or "certain"))
    return sorted(found)


def _difference(found: Found, wanted: Found) -> str:
    for path, line, code, certainty in wanted:
        if (path, line, code, certainty) not in found:
            return f"{path}:{line}: {code} ({certainty}) is not reported"
    for path, line, code, certainty in found:
        if (path, line, code, certainty) not in wanted:
            return f"{path}:{line}: {code} ({certainty}) is reported"
    return "" if found == wanted else "a line is reported more than once"


def _files(path: Path) -> list[Path]:
    if path.is_file():
        return [path]
    return sorted(file for file in path.rglob("*") if file.is_file() and "__pycache__" not in file.parts)
