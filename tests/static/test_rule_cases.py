"""Every rule on its own cases: bad lines are found where they stand, good files stay silent, examples do as they say.

A case is a file or a folder below cases/CODE/ whose name starts with bad_ or good_. In a bad one, each line that the
rule must report ends in `# expect: CODE`, or `# expect: CODE likely`; nothing else may be reported by that rule.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from verifygate.config.settings import StaticSettings
from verifygate.model import Finding, Severity
from verifygate.quality.qualification.cases import example
from verifygate.sources.discovery import read_sources
from verifygate.static.engine import analyse
from verifygate.static.registry import load_rules

CASES = Path(__file__).parent / "cases"
EXPECT = re.compile(r"#.*\bexpect: (?P<code>[A-Z]+\d+)(?: (?P<certainty>certain|likely))?")
SECTIONS = (
    "What it does",
    "Impact",
    "Why is this bad",
    "What happens at run time",
    "Example",
    "Use instead",
    "Fix safety",
    "What it cannot see",
    "References",
)
ALL = sorted(CASES.glob("*/*"))


def found(folder: Path, names: list[str], rules: tuple[str, ...] = ()) -> list[tuple[str, int, str, str]]:
    outcome = analyse(read_sources(folder, names), StaticSettings(select=rules), merged=False)
    assert not outcome.not_analysed
    return sorted((each.path, each.line, each.rule, each.certainty.value) for each in outcome.findings)


def expected(folder: Path, case: Path) -> list[tuple[str, int, str, str]]:
    files = [case] if case.is_file() else sorted(file for file in case.rglob("*") if file.is_file())
    marks = [
        (file.relative_to(folder).as_posix(), number, mark["code"], mark["certainty"] or "certain")
        for file in files
        for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1)
        if (mark := EXPECT.search(line))
    ]
    return sorted(marks)


@pytest.mark.parametrize("case", ALL, ids=[f"{case.parent.name}-{case.stem}" for case in ALL])
def test_case(case: Path):
    """The rule reports the marked lines and no other."""
    root = case if case.is_dir() else case.parent
    names = ["."] if case.is_dir() else [case.name]
    marks = expected(root, case)

    code = case.parent.name
    rules = () if code.startswith("GATE") else (code,)  # a suppression is unused only where its rule ran
    assert [finding for finding in found(root, names, rules) if finding[2] == code] == marks
    assert bool(marks) == case.name.startswith("bad_")


def test_every_rule_has_cases_and_every_case_a_rule():
    """A folder of cases for each rule, with at least one bad and one good; no folder without a rule."""
    folders = {folder.name: [case.name for case in folder.iterdir()] for folder in CASES.iterdir()}

    assert set(folders) == set(load_rules())
    for code, names in folders.items():
        assert any(name.startswith("bad_") for name in names), code
        assert any(name.startswith("good_") for name in names), code


@pytest.mark.parametrize("code", load_rules())
def test_documentation_is_complete_and_its_examples_do_as_they_say(code: str):
    """The example breaks exactly this rule, what to use instead breaks none; a note on the side is no violation."""
    loaded = load_rules()[code]
    assert tuple(loaded.sections) == SECTIONS

    bad = report(loaded.sections["Example"])
    assert {finding.rule for finding in bad if finding.rule == code or not is_note(finding)} == {code}, bad
    assert all(map(is_note, report(loaded.sections["Use instead"])))


@pytest.mark.parametrize("code", sorted(load_rules()))
def test_the_impact_is_one_short_sentence(code: str):
    """Reports set it beside the finding: it says what happens to the training, and stands alone."""
    impact = load_rules()[code].impact
    assert re.fullmatch(r"[A-Z`].*\.", impact)
    assert not re.search(r"\. [A-Z]", impact)
    assert len(impact) <= 200


def is_note(finding: Finding) -> bool:
    return finding.severity is Severity.INFO


def report(section: str):
    """All findings on the code block of a section."""
    block = re.fullmatch(r"```(python|yaml)\n(.*?)```", section, re.DOTALL)
    assert block is not None, "one block, and nothing else"
    return analyse(example(block[1], block[2]), StaticSettings()).findings
