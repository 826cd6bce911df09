"""What `verifygate check` prints."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from dataclasses import replace

import pytest
from report_sample import CLIP, HOSTILE, KEYS, RECREATED, check_report

from verifygate.base.errors import UsageError
from verifygate.model import Applicability, NotAnalysed, NotFollowed, Place
from verifygate.model.check_report import CheckReport
from verifygate.report.formats import check_formats, render_check

CLEAN = CheckReport(files_checked=3, findings=(), not_analysed=(), not_followed=())
UNREAD = NotAnalysed(path="bad.py", reason="invalid syntax", mentions_amp=True)


def test_text_line_is_clickable() -> None:
    """`path:line:col: CODE name [severity, certain] message`, the remedy below it, then the way there."""
    first, second, third, *_ = render_check(check_report(CLIP), "text").splitlines()
    assert first.startswith("demo/train_step.py:88:9: AMP201 clip-before-unscale [critical, certain] gradients of")
    assert second == "    remedy: call `scaler.unscale_(optimizer)` before `clip_grad_norm_`"
    assert third == "     1. demo/train_step.py:86  SCALE scaler.scale(loss)"


def test_text_without_steps_or_remedy_is_one_line() -> None:
    """No empty line promises what is not there."""
    assert render_check(check_report(RECREATED), "text").count("\n") == 3


@pytest.mark.parametrize(
    ("report", "expected"),
    [
        (CLEAN, "No findings in 3 files."),
        (replace(CLEAN, files_checked=1), "No findings in 1 file."),
        (replace(CLEAN, not_analysed=(UNREAD,)), "No findings in 3 files; 1 file not analysed."),
        (check_report(CLIP), "1 finding (1 critical) in 3 files"),
        (check_report(CLIP, KEYS), "2 findings (1 critical, 1 high) in 3 files"),
    ],
)
def test_text_ends_with_the_counts(report: CheckReport, expected: str) -> None:
    """The last line is the sum."""
    assert render_check(report, "text").splitlines()[-1] == expected


def test_text_obeys_no_escape() -> None:
    """A hostile message is one line without colours."""
    finding = replace(RECREATED, message=HOSTILE)
    text = render_check(check_report(finding), "text")
    assert text.count("\n") == 3
    assert "\x1b" not in text
    assert "\u202e" not in text


def test_json_is_the_contract() -> None:
    """The keys that scripts rely on."""
    document = json.loads(render_check(check_report(), "json"))
    assert set(document) == {
        *(
            "schema_version",
            "files_checked",
            "findings",
            "not_analysed",
            "not_followed",
            "left_out",
            "contract",
            "contract_changes",
            "folder",
        ),
        "fail_on",
        *("stood_before", "in_baseline"),
    }
    place = {"rule", "name", "path", "line", "column", "end_line"}
    assert place | {"severity", "certainty", "message", "fingerprint", "fix"} <= set(document["findings"][0])
    assert document["findings"][0]["severity"] == "critical"


def test_github_annotates_and_nothing_else_commands() -> None:
    """One command for each finding; a message cannot begin another one, nor a path end its property."""
    finding = replace(CLIP, message="x\n::stop-commands::a%0A", path="a,b:c.py")
    lines = render_check(check_report(finding, RECREATED), "github").splitlines()
    commands = [line for line in lines if line.startswith("::")]
    assert len(commands) == 2
    place = "file=a%2Cb%3Ac.py,line=88,endLine=88,col=9"
    assert commands[0].startswith(f"::error {place},title=AMP201 clip-before-unscale::")
    assert "a%250A" in commands[0]
    assert commands[1].startswith("::warning ")  # high but only likely
    assert lines[-1] == "2 findings (1 critical, 1 high) in 3 files"


def test_github_annotates_what_was_not_analysed() -> None:
    """A file that could not be read is an error on that file."""
    out = render_check(replace(CLEAN, not_analysed=(UNREAD,)), "github")
    assert out.startswith("::error file=bad.py,title=not analysed::invalid syntax\n")


def test_junit_is_never_empty() -> None:
    """No findings is one passing case: a reader takes an empty file for a crash."""
    assert 'tests="1" failures="0"' in render_check(CLEAN, "junit")
    assert 'tests="3" failures="3"' in render_check(check_report(), "junit")


@pytest.mark.parametrize(
    ("fixes", "told"),
    [
        ((Applicability.SAFE, None), "; 1 fixable with `verifygate fix`"),
        ((Applicability.SAFE, Applicability.UNSAFE), "; 1 fixable with `verifygate fix`, 1 more with `--unsafe`"),
        ((None, Applicability.UNSAFE), "; 1 fixable with `verifygate fix --unsafe`"),
        ((None, None), ""),
    ],
)
def test_fixable_findings_are_counted(fixes: tuple[Applicability | None, ...], told: str) -> None:
    """A safe fix and one that needs a person's eye are told apart."""
    found = [replace(each, fix=fix) for each, fix in zip((CLIP, KEYS), fixes, strict=True)]
    assert render_check(check_report(*found), "text").splitlines()[-1].endswith(f"in 3 files{told}")


@pytest.mark.parametrize("format", check_formats())
def test_order_of_the_input_is_nothing(format: str) -> None:  # noqa: A002
    """Worst first in every format, however the findings came (JSON keeps the order it was given)."""
    one, other = (render_check(check_report(*order), format) for order in ((CLIP, KEYS), (KEYS, CLIP)))
    assert one == other or format == "json"


@pytest.mark.parametrize("format", check_formats())
def test_every_format_ends_its_line(format: str) -> None:  # noqa: A002
    """Whatever prints it need not add to it."""
    assert re.search(r"[^\n]\n$", render_check(check_report(), format))
    assert render_check(CLEAN, format).endswith("\n")


@pytest.mark.parametrize("format", ["text", "github", "json"])
def test_printing_findings_loads_no_template_engine(format: str) -> None:  # noqa: A002
    """`verifygate check` starts fast: only the reports of a whole run need Jinja2."""
    probe = f"import sys, verifygate.report.{format}; sys.exit('jinja2' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", probe], check=False).returncode == 0


def test_unknown_format_is_a_usage_error() -> None:
    """The message lists those that there are."""
    with pytest.raises(UsageError, match="text, json, github"):
        render_check(CLEAN, "pdf")


def test_text_names_the_first_places_that_were_not_followed() -> None:
    """Silence means looked and fine: what was given up stands before the counts, and is counted."""
    gaps = tuple(NotFollowed(path="a.py", line=line, reason="a loop over names") for line in range(1, 8))
    report = CheckReport(files_checked=1, findings=(), not_analysed=(), not_followed=gaps)

    lines = render_check(report, "text").splitlines()

    assert lines[0] == "7 places not followed:"
    shown = [f"    a.py:{line}: a loop over names" for line in range(1, 6)]
    assert lines[1:7] == [*shown, "    and 2 more: see `--format json`"]
    assert lines[-1] == "No findings in 1 file; 7 places not followed."


@pytest.mark.parametrize("format", ["text", "github", "junit", "gitlab"])
def test_further_locations_are_shown(format: str) -> None:  # noqa: A002
    place = Place(path="b.py", line=3, end_line=3, text='evaluate()["acc"]')
    report = CheckReport(files_checked=1, findings=(replace(CLIP, places=(place,)),), not_analysed=(), not_followed=())

    assert "b.py:3" in render_check(report, format)


def test_sarif_has_further_locations_and_gaps() -> None:
    place = Place(path="b.py", line=3, end_line=3, text='evaluate()["acc"]')
    report = CheckReport(
        files_checked=1,
        findings=(replace(CLIP, places=(place,)),),
        not_analysed=(),
        not_followed=(NotFollowed(path="a.py", line=7, reason="a loop over names"),),
    )

    (run,) = json.loads(render_check(report, "sarif"))["runs"]

    (related,) = run["results"][0]["relatedLocations"]
    assert related["physicalLocation"]["artifactLocation"]["uri"] == "b.py"
    (note,) = run["invocations"][0]["toolExecutionNotifications"]
    assert (note["level"], note["message"]["text"]) == ("note", "not followed: a loop over names")
    assert note["locations"][0]["physicalLocation"]["region"]["startLine"] == 7


def test_text_sets_files_without_amp_code_apart() -> None:
    beside = replace(KEYS, beside_amp=True, severity=CLIP.severity, path="a.py")
    report = CheckReport(files_checked=2, findings=(beside, CLIP), not_analysed=(), not_followed=())

    text = render_check(report, "text")

    places = [text.index(each) for each in (CLIP.path, "In files without AMP code of their own:", "a.py:")]
    assert places == sorted(places)
