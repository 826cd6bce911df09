"""`verifygate evidence claims` from the command line: exit codes, what it prints, what it refuses."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import jsonschema
import pytest
from claims_help import REPORTS, audit_texts
from hypothesis import given, settings
from hypothesis import strategies as st

from verifygate.cli import main
from verifygate.report.claims import ranges
from verifygate.report.formats import render_claims

SCHEMA = Path(__file__).parents[2] / "verifygate" / "docs" / "schemas" / "claims.schema.json"
LINES = [line for path in sorted(REPORTS.glob("*.md")) for line in path.read_text(encoding="utf-8").splitlines()]
RIGHT = "# Note\n\nMet: 2/8 (25%)\n"
WRONG = "# Note\n\nMet: 2/8 (35%)\n"
OPEN = "# Note\n\nSee `train.py:8`.\n"


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name, text in {
        "right.md": RIGHT,
        "wrong.md": WRONG,
        "open.md": OPEN,
        "nothing.md": "# Note\n\nAll fine.\n",
    }.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    return tmp_path


@pytest.mark.parametrize(
    ("names", "code"),
    [(["right.md"], 0), (["wrong.md"], 1), (["open.md"], 1), (["right.md", "open.md"], 1), (["nothing.md"], 1)],
)
def test_exit_code_is_0_only_where_all_is_confirmed(
    here: Path, capsys: pytest.CaptureFixture[str], names: list[str], code: int
):
    """An open claim is no success, and neither is a report in which nothing could be tested."""
    assert main(["evidence", "claims", *names]) == code
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    ("arguments", "where", "remedy"),
    [
        (["gone.md"], "gone.md: ", "name a Markdown file"),
        (["."], ".: is a folder", "one by one"),
        (["empty.md"], "empty.md: ", "not empty"),
        (["latin.md"], "latin.md:2: not UTF-8 text", "save the report as UTF-8"),
        (["binary.md"], "binary.md: ", "NUL"),
        (["right.md", "--root", "gone"], "gone: no such folder", "--root"),
        (["right.md", "--root", "void"], "void: holds no source file", "--root"),
        (["right.md", "--run-tests"], "--run-tests needs a source tree", "--root DIR"),
        (["right.md", "--format", "html"], "html", "--help"),
        ([], "Missing argument", "--help"),
    ],
)
def test_bad_input_is_one_line(
    here: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], where: str, remedy: str
):
    (here / "empty.md").write_text(" \n", encoding="utf-8")
    (here / "latin.md").write_bytes("# Note\ncaf\u00e9\n".encode("latin-1"))
    (here / "binary.md").write_bytes(b"# Note\0\n")
    (here / "void").mkdir()
    assert main(["evidence", "claims", *arguments]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.count("\n") == 1
    assert where in printed.err
    assert remedy in printed.err


def test_text_puts_the_refuted_first(here: Path, capsys: pytest.CaptureFixture[str]):
    """Counts, then each report: what is refuted with its line, what is open, what holds, what was not parsed."""
    (here / "mixed.md").write_text(f"{RIGHT}\nOf 3/8 (50%) we know nothing more.\n\nA sentence.\n", encoding="utf-8")
    assert main(["evidence", "claims", "mixed.md"]) == 1
    assert capsys.readouterr().out.splitlines() == [
        "Claims: 1 refuted, 0 inconclusive, 1 confirmed",
        "no source tree was given: what the reports say of code stays open (--root DIR)",
        "",
        "mixed.md: 1 refuted, 0 inconclusive, 1 confirmed; 1 of 3 sentences not parsed",
        '  REFUTED  mixed.md:5  "3/8 (50%)"',
        "      percentage: 3 of 8 is 37.5 %, not 50 %",
        '  CONFIRMED  mixed.md:3  percentage: "2/8 (25%)": 2 of 8 is 25 %',
        "  not parsed",
        "      lines 7",
    ]


def test_claims_that_wait_for_one_thing_share_a_line():
    text = "See `train.py:8`, `train.py:9` and `train.py:12`; `a_name` and `b_name`.\n"
    printed = render_claims(audit_texts(text), "text")
    assert "  INCONCLUSIVE  3 references to lines, 2 names\n      no source tree given\n      lines 1\n" in printed


def test_json_fits_the_published_schema(here: Path, capsys: pytest.CaptureFixture[str]):
    assert main(["evidence", "claims", "wrong.md", "open.md", "--format", "json"]) == 1
    document = json.loads(capsys.readouterr().out)
    jsonschema.Draft202012Validator(json.loads(SCHEMA.read_text(encoding="utf-8"))).validate(document)
    assert (document["refuted"], document["inconclusive"], document["confirmed"]) == (1, 1, 0)
    assert document["claims"][0]["words"] == "2/8 (35%)"
    assert [report["path"] for report in document["reports"]] == ["wrong.md", "open.md"]


def test_markdown_escapes_what_reports_say():
    """A report cannot open a cell, a tag or a link in the page about it."""
    text = "# A | <b>x</b> [y](z)\n\n`<script>|` 3/8 (50%)\n\nDecision: PASS\n"
    page = render_claims(audit_texts(text), "md")
    assert "<script>" not in page
    assert "<b>" not in page
    assert "](z)" not in page
    table = [line for line in page.splitlines() if "3/8 (50%)" in line]
    assert table
    assert all(line.count("|") == 5 for line in table)


def test_terminal_sees_no_control_characters():
    printed = render_claims(audit_texts("# A\n\n\x1b[31m3/8 (50%)\x1b[0m \u202e\n"), "text")
    assert "\x1b" not in printed
    assert "\u202e" not in printed


def test_no_machine_path_in_the_output(here: Path, capsys: pytest.CaptureFixture[str]):
    (here / "tree").mkdir()
    (here / "tree" / "train.py").write_text("x = 1\n", encoding="utf-8")
    shutil.copy(REPORTS / "release_audit.md", here)
    for format_ in ("text", "json", "md"):
        main(["evidence", "claims", "release_audit.md", "open.md", "--root", str(here / "tree"), "--format", format_])
        printed = capsys.readouterr().out
        assert str(here) not in printed
        assert "release_audit.md" in printed


def test_the_report_is_not_part_of_the_tree(here: Path, capsys: pytest.CaptureFixture[str]):
    """A report that lies in the tree does not refute itself."""
    (here / "code.py").write_text("x = 1\n", encoding="utf-8")
    (here / "report.py").write_text("Zero occurrences of `some_name` in the codebase.\n", encoding="utf-8")
    assert main(["evidence", "claims", "report.py", "--root", "."]) == 0
    assert "nowhere in 1 source file" in capsys.readouterr().out


@settings(derandomize=True, deadline=None, max_examples=60)
@given(st.lists(st.sampled_from(LINES), min_size=1, max_size=30), st.text("0123456789/%()|`*:=+-x.# \n", max_size=40))
def test_no_text_breaks_the_audit(lines: list[str], noise: str):
    """Whatever stands in a report, every claim quotes a line that is there, and is one of three things."""
    text = "\n".join([*lines, noise, *reversed(lines)])
    report = audit_texts(text, text)
    assert report.refuted + report.inconclusive + report.confirmed == len(report.claims)
    assert all(1 <= claim.line <= text.count("\n") + 1 for claim in report.claims)


def test_endless_numbers_are_no_numbers():
    long = "9" * 5000
    assert audit_texts(f"{long}/{long} (50%)\n\nMet: {long}/{long}\n\n{long} + 1 = {long}\n").refuted == 0


def test_ranges():
    assert ranges([3, 1, 2, 7, 9, 8, 2]) == "1-3, 7-9"
    assert ranges([]) == "none"
