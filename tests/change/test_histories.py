"""The table of `docs/adopting.md`: what the gate says of a change, each row a history that is played in a repository.

`WRITE_HISTORIES=1 pytest tests/change/test_histories.py -m ''` writes the rows.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from verifygate.cli import main

pytestmark = pytest.mark.slow
PAGE = Path(__file__).parents[2] / "verifygate/docs/adopting.md"
HEAD = "| The change | Verdict | The report says |\n|---|---|---|\n"
SOUND = "import torch\n"
GREEN = "def test_green():\n    pass\n"
RED = "def test_red():\n    assert 1 == 2\n"
STATIC, TESTS = ("--stage", "static"), ("--stage", "static", "--stage", "execution")
Options = tuple[str, ...]
HISTORIES: dict[str, Callable[[Any], Options]] = {}


def history(title: str) -> Callable[[Callable[[Any], Options]], Callable[[Any], Options]]:
    """A row: the function takes a repository on a branch off `main` to the change, and returns options of `run`."""

    def noted(play: Callable[[Any], Options]) -> Callable[[Any], Options]:
        HISTORIES[title] = play
        return play

    return noted


def branch(repository: Any, **on_main: str) -> None:
    if on_main:
        repository.commit(**on_main)
    repository.git("checkout", "-qb", "change")


def faulty(repository: Any) -> str:
    return str((repository.folder / "old.py").read_text(encoding="utf-8"))


def silenced(repository: Any) -> str:
    return faulty(repository).replace("1.0)", "1.0)  # verifygate: ignore[AMP201] the scale is one")


@history("renames the file of an old fault, and edits it")
def _(repository: Any) -> Options:
    branch(repository)
    repository.git("mv", "old.py", "training.py")
    repository.commit(training__py="# a note\n" + (repository.folder / "training.py").read_text(encoding="utf-8"))
    return STATIC


@history("moves the function of an old fault to another file")
def _(repository: Any) -> Options:
    branch(repository)
    text = faulty(repository)
    repository.commit(old__py=SOUND, loops__py=text)
    return STATIC


@history("copies the function of an old fault")
def _(repository: Any) -> Options:
    branch(repository)
    repository.commit(copy__py=faulty(repository))
    return STATIC


@history("fixes an old fault")
def _(repository: Any) -> Options:
    branch(repository)
    repository.commit(
        old__py=faulty(repository).replace("        torch.nn", "        scaler.unscale_(optimizer)\n        torch.nn")
    )
    return STATIC


@history("adds a README, and `main` has moved on since")
def _(repository: Any) -> Options:
    branch(repository)
    repository.commit(README__md="a note\n")
    repository.git("checkout", "-q", "main")
    repository.commit(old__py=SOUND)
    repository.git("checkout", "-q", "change")
    return STATIC


@history("does not touch a test that is red on `main`")
def _(repository: Any) -> Options:
    branch(repository, test_it__py=RED + GREEN)
    repository.commit(more__py=SOUND)
    return TESTS


@history("makes a test red")
def _(repository: Any) -> Options:
    branch(repository, test_it__py="from value import VALUE\n\n\ndef test_it():\n    assert VALUE == 1\n" + GREEN,
           value__py="VALUE = 1\n")  # fmt: skip
    repository.commit(value__py="VALUE = 2\n")
    return TESTS


@history("skips a test that ran")
def _(repository: Any) -> Options:
    test = "import pytest\n\n\n{}def test_it():\n    pass\n\n\n" + GREEN
    branch(repository, test_it__py=test.format(""))
    repository.commit(test_it__py=test.format("@pytest.mark.skip(reason='later')\n"))
    return TESTS


@history("brings a fault, and a policy by which it does not block")
def _(repository: Any) -> Options:
    branch(repository)
    repository.commit(new__py=faulty(repository), verifygate__toml="[verdict]\nblock = []\n")
    return STATIC


@history("brings a fault, and an entry for it in the baseline file")
def _(repository: Any) -> Options:
    repository.write("verifygate.toml", '[verdict]\nbaseline = "verifygate-baseline.toml"\n')
    main(["baseline", "write"])
    branch(repository, more__py=SOUND)
    repository.write("new.py", faulty(repository))
    main(["baseline", "write"])
    repository.commit()
    return STATIC


@history("brings a fault, and a comment that suppresses it")
def _(repository: Any) -> Options:
    branch(repository)
    repository.commit(new__py=silenced(repository))
    return STATIC


@history("brings a fault, and a comment that suppresses it; the policy of `main` allows that")
def _(repository: Any) -> Options:
    branch(repository, verifygate__toml="[verdict]\nallow_new_suppressions = true\n")
    repository.commit(new__py=silenced(repository))
    return STATIC


@history("suppresses the old fault")
def _(repository: Any) -> Options:
    branch(repository)
    repository.commit(old__py=silenced(repository))
    return STATIC


@history("moves a function with a suppressed fault to another file")
def _(repository: Any) -> Options:
    branch(repository, quiet__py=silenced(repository), other__py="ONE = 1\n")
    repository.git("rm", "-q", "quiet.py")
    repository.commit(other__py="ONE = 1\n\n\n" + silenced(repository) + "\n\ndef more():\n    return ONE\n")
    return STATIC


@history("comes with an unknown CI event")
def _(repository: Any) -> Options:
    branch(repository)
    repository.commit(old__py=SOUND)
    os.environ.update({"GITHUB_ACTIONS": "true", "GITHUB_EVENT_NAME": "issue_comment"})
    return (*STATIC, "--ci")


def said(report: dict[str, Any]) -> str:
    """What the report says, in a cell of the table; no commit, no line."""
    changes = report["changes"] or {}
    parts = [f"{len(changes[each])} {each}" for each in ("new", "open", "fixed") if changes.get(each)]
    for reason in report["reasons"]:
        text = f"`{reason['condition']}` {reason['path'] or ''}".strip()
        if reason["condition"] != "finding":
            text += f": {re.sub(r'; expected: .*; actual: ', ': ', reason['text'])}"
        parts.append(text)
    for check in (check for stage in report["stages"] for check in stage["checks"] if check["inherited"]):
        parts.append(f"`{check['id']}` {check['status']}, not blocking: {check['actual']}")
    if suppressed := changes.get("suppressed"):
        parts.append(f"suppressed by this change: {', '.join(suppressed)}")
    differences = (report["policy_origin"] or {}).get("differences", ())
    parts += [f"not in force before it is merged: {each['key']}" for each in differences]
    text = "; ".join(parts).replace("|", "/")
    return re.sub(r"\b[0-9a-f]{12}\b", "REV", re.sub(r"\(?GATE.*?\)", "", text))


@pytest.mark.parametrize("title", HISTORIES)
def test_the_table_says_what_the_gate_says(title: str, repository: Any, monkeypatch: pytest.MonkeyPatch):
    for name in ("GITHUB_ACTIONS", "GITHUB_EVENT_NAME", "GITLAB_CI"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.setenv(name, "")
    options = HISTORIES[title](repository)
    since = () if "--ci" in options else ("--since", "main")

    code = main(["run", *options, *since])
    report = repository.report
    assert (code == 0) is (report["verdict"] == "PASS")
    row = f"| {title} | {report['verdict']} | {said(report)} |"
    page = PAGE.read_text(encoding="utf-8")
    if os.environ.get("WRITE_HISTORIES"):
        rows = [line for line in rows_of(page) if not line.startswith(f"| {title} |")] + [row]
        order = [f"| {each} |" for each in HISTORIES]
        rows = sorted((each for each in rows if starts(each, order) >= 0), key=lambda each: starts(each, order))
        before, after = page.partition(HEAD)[0], page.partition(HEAD)[2].partition("\n\n")[2]
        page = f"{before}{HEAD}" + "\n".join(rows) + f"\n\n{after}"
        PAGE.write_text(page, encoding="utf-8")
    assert row in rows_of(page)


def rows_of(page: str) -> list[str]:
    return [line for line in page.partition(HEAD)[2].partition("\n\n")[0].splitlines() if line.startswith("| ")]


def starts(row: str, order: list[str]) -> int:
    return next((index for index, begin in enumerate(order) if row.startswith(begin)), -1)


def test_the_table_has_these_rows_and_no_other():
    rows = rows_of(PAGE.read_text(encoding="utf-8"))
    assert [row.split(" | ")[0].removeprefix("| ") for row in rows] == list(HISTORIES)
