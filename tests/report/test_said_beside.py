"""What every output says beside the findings: what would settle a likely one, and which sources were left out."""

from __future__ import annotations

import json
from dataclasses import replace
from types import SimpleNamespace

import pytest
from report_sample import CLIP, check_report, report, static

from verifygate.model import Certainty, Detail, Finding, LeftOut, StaticDetails
from verifygate.model.finding import SETTLED_BY
from verifygate.report.formats import render, render_check
from verifygate.report.terminal import summary
from verifygate.sources.tree import Sources

RUN = "run `verifygate probe -- python train.py`"
LIKELY = replace(
    CLIP,
    certainty=Certainty.LIKELY,
    details=(Detail(label="assumes", values=("it is one",)), Detail(label=SETTLED_BY, values=(RUN,))),
)
LEFT = (
    LeftOut(rule=".gitignore:3: /out/", files=7, examples=("out/a.py", "out/b.py")),
    LeftOut(rule="[project] exclude: old/", files=1, examples=("old/c.py",)),
)
LEFT_IN_WORDS = "8 files left out (7 by `.gitignore:3: /out/`, 1 by `[project] exclude: old/`)"


def reported(*findings: Finding):
    stage = static()
    assert isinstance(stage.details, StaticDetails)
    details = stage.details.model_copy(update={"left_out": LEFT})
    return report((stage.model_copy(update={"findings": findings, "details": details}),))


@pytest.mark.parametrize("name", ["text", "sarif", "json", "github", "rdjson"])
def test_check_says_what_settles_it(name: str):
    assert RUN.replace("run ", "") in render_check(check_report(LIKELY), name)
    assert "probe" not in render_check(check_report(CLIP), name)


def test_a_run_says_what_settles_it():
    given = reported(LIKELY)
    assert f"- **settled by:** {RUN}" in render(given, "md")["static.md"]
    told = "<b>settled by:</b> run <code>verifygate probe -- python train.py</code>"
    assert told in render(given, "html")["report.html"]
    (log,) = json.loads(render(given, "sarif")["report.sarif"])["runs"]
    assert any(f"likely: settled by {RUN}" in each["message"]["text"] for each in log["results"])


def test_an_editor_says_what_settles_it():
    messages = pytest.importorskip("verifygate.language_server.messages")
    answer = SimpleNamespace(
        broken={}, sources=Sources(()), report=SimpleNamespace(not_analysed=()),
        findings=lambda _path: [LIKELY],
    )  # fmt: skip
    (shown,) = messages.diagnostics(LIKELY.path, answer, lambda path: path, len)
    assert shown.message.endswith(f"\nsettled by: {RUN}")


def test_what_was_left_out_is_counted_with_the_reason():
    given, checked = reported(CLIP), replace(check_report(), findings=(), left_out=LEFT)
    assert render_check(checked, "text").splitlines()[-1] == f"No findings in 3 files; {LEFT_IN_WORDS}."
    assert json.loads(render_check(checked, "json"))["left_out"][0]["files"] == 7
    assert LEFT_IN_WORDS in render_check(checked, "sarif")
    assert LEFT_IN_WORDS in render(given, "sarif")["report.sarif"]
    pages = render(given, "md")
    assert LEFT_IN_WORDS in pages["gate.md"]
    assert "- 7 files by `.gitignore:3: /out/`: `out/a.py`, `out/b.py` and 5 more" in pages["static.md"]
    assert (
        "7 files by <code>.gitignore:3: /out/</code>: out/a.py, out/b.py and 5 more"
        in render(given, "html")["report.html"]
    )
    assert f"  left out      {LEFT_IN_WORDS.replace(' left out', '')}" in summary(given, "reports")
