"""The Markdown pages, read the way GitHub and a hurried reviewer read them."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from markdown_it import MarkdownIt
from report_sample import (
    HOSTILE,
    IMPACT,
    TODAY,
    check_report,
    clean_report,
    completed_requirements,
    execution,
    performance,
    report,
    static,
)

from verifygate.model import (
    Check,
    Evidence,
    EvidenceClass,
    ExecutionDetails,
    Outcome,
    Report,
    Severity,
    StageResult,
    Status,
    Verdict,
    Waiver,
)
from verifygate.report.formats import files_of, render, run_formats
from verifygate.report.markdown import PAGES, SOMETIMES
from verifygate.report.terminal import summary

MARKDOWN = MarkdownIt("commonmark", {"html": True}).enable("table")
SECTIONS = {
    "gate.md": (
        "What blocks|What changed|Not shown|Recommendations|Contradictions between stages|"
        "Findings that do not block|Waivers"
    ),
    "provenance.md": "Score breakdown|Policy",
    "execution.md": (
        "Findings of the recorded runs|Why the tests did not catch it|Checks|Tests|Warnings|End of the output|"
        "AMP trace|Emulated CUDA run|Oracles|Who executes the AMP code|Score breakdown|Environment"
    ),
    "static.md": (
        "Findings|Checks|Suppressions in force|Not analysed|Not followed|Implementation evidence|"
        "Score breakdown|Environment"
    ),
    "security.md": ("Findings|Checks|Analysers that did not answer|Suppressions in force|Score breakdown|Environment"),
    "requirements.md": (
        "Not verified|Checks|Quality gates|Differences from the catalogue|Calculations|Architecture|Traceability|"
        "Results from elsewhere|Missing validations|Suspect links|Orphans|Metrics of the run|"
        "Score breakdown|Environment"
    ),
    "performance.md": (
        "Targets|Checks|Protocol|Plots|Throughput|Step time|Memory anatomy|Bottlenecks|Effective steps|Accuracy parity|"
        "Other measurements|Hazards|Findings|Score breakdown|Environment"
    ),
}
"""Sections that are there where there is something to say."""


def full() -> Report:
    """The sample with every stage completed."""
    return report((execution(), static(), performance(), completed_requirements()))


def sections(page: str) -> dict[str, str]:
    """Title -> text of every second-level section."""
    parts = re.split(r"^## (.+)$", page, flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def rows(page: str) -> list[list[str]]:
    """Every table row, as a parser sees it."""
    found: list[list[str]] = []
    for token in MARKDOWN.parse(page):
        if token.type == "tr_open":
            found.append([])
        elif token.type == "inline" and found and token.level > 2:
            found[-1].append(token.content)
    return found


EVERY = {"bad": report(), "full": full(), "clean": clean_report(), "empty": report((), ())}


@pytest.mark.parametrize("kind", EVERY)
@pytest.mark.parametrize("name", PAGES)
def test_a_section_says_something_or_is_named_at_the_end(kind: str, name: str) -> None:
    """No section says only `none`, and none vanishes unseen: the last line names those that there is nothing under."""
    page = render(EVERY[kind], "md")[name]
    found = sections(page)
    closing = page.rstrip("\n").rpartition("\n")[2]
    named = closing.removeprefix("Nothing under: ") if closing.startswith("Nothing under: ") else ""
    for title in SECTIONS[name].split("|"):
        assert (title in found) != bool(re.search(rf"(?:^|, ){re.escape(title)}(?:,|\.$| \()", named)), title
    for text in found.values():
        assert text.strip()
        assert not re.search(r"^(?:none|not applicable.*)$", text, flags=re.MULTILINE)


@pytest.mark.parametrize("kind", EVERY)
@pytest.mark.parametrize("name", PAGES)
def test_tables_are_whole(kind: str, name: str) -> None:
    """No line of a page looks like a table row without being one, and every row has its head's width."""
    page = render(EVERY[kind], "md")[name]
    fenced = re.sub(r"^(`{3,}).*?^\1$", "", page, flags=re.MULTILINE | re.DOTALL)
    written = [line for line in fenced.split("\n") if line.startswith("|") and not re.match(r"^[|\-: ]+$", line)]
    headless = fenced.count("| | |\n|---|---|")
    assert len(rows(page)) == len(written) + headless
    for token_rows in MARKDOWN.parse(page):
        assert not (token_rows.type == "paragraph_open" and "|---" in token_rows.content)


@pytest.mark.parametrize("name", PAGES)
def test_command_and_commit_stand_on_every_page(name: str) -> None:
    """Whoever doubts a page can make it again."""
    page = render(report(), "md")[name]
    assert "`verifygate run --report-dir reports/latest`" in page
    assert "`6a1f2c3+changes`" in page


def test_first_screen_of_a_block() -> None:
    """Verdict, score, three sentences, and what blocks with line, impact and remedy, before anything else."""
    screen = render(report(), "md")["gate.md"].split("\n")[:20]
    text = "\n".join(screen)
    assert "## Verdict: **BLOCK**, score 25.50 of 100.00" in text
    assert "Do not merge, because of 2 findings (1 critical, 1 high) and 3 other reasons; looked at: execution" in text
    assert "The worst is AMP201 clip-before-unscale at `demo/train_step.py:88`: gradients of `model` are" in text
    assert f". Such code: {IMPACT}" in text
    assert "Not shown: 2 checks, 1 of them waived, the first `performance.memory`:" in text
    assert "[demo/train_step.py:88](../../demo/train_step.py#L88)" in text
    assert f"<br>Impact of such code: {IMPACT}" in text
    assert "Do: call `scaler.unscale_(optimizer)` before `clip_grad_norm_`" in text


def test_each_is_told_once() -> None:
    """A finding that blocks stands with the reasons, and not in a second list; so does what is not shown."""
    page = render(report(), "md")["gate.md"]
    _, _, rest = page.partition("## What blocks")
    assert rest.count("demo/train_step.py#L88") == 2  # as a reason, and in the contradiction that is about it
    assert len(re.findall(r"^- `performance.memory` ", page, flags=re.MULTILINE)) == 1
    beside = sections(page)["Findings that do not block"]
    assert "AMP301" in beside
    assert "AMP201" not in beside


def test_a_check_that_fails_for_a_finding_is_told_with_it() -> None:
    """The recorder's check cites the line of a finding: nothing more is open; one that cites anything else is."""
    cited = Evidence(
        id="E-1", kind=EvidenceClass.EXECUTED, summary="AMP201 in a run", path="demo/train_step.py", line=88
    )
    other = cited.model_copy(update={"line": 3})
    checks = tuple(
        Check(id=f"execution.{name}", title=name, status=Status.FAIL, required=False, actual="why", evidence=evidence)
        for name, evidence in (("trace", (cited,)), ("more", (cited, other)), ("bare", ()))
    )
    pages = render(report((execution().model_copy(update={"checks": checks}), static()), ()), "md")
    told = re.findall(r"^- `(execution.+?)`", sections(pages["gate.md"])["Not shown"], flags=re.MULTILINE)
    assert told == ["execution.more", "execution.bare"]
    assert "1 check not passed, as the findings tell: `trace`" in pages["execution.md"]


def test_stages_with_links_to_their_pages() -> None:
    """The table of the stages leads on."""
    page = render(report(), "md")["gate.md"]
    assert "| [static](static.md) | **BLOCK** | 40.00 | 1 | 2 | 0 | 0 | 0 | 0.42 s |" in page
    assert "| [requirements](requirements.md) | **BLOCK** (errored) |" in page


def test_first_screen_has_five_reasons_and_says_how_many_more() -> None:
    """A hundred findings do not push the rest off the screen."""
    many = static().findings[0]
    findings = tuple(replace(many, line=n, fingerprint=f"{n:040}") for n in range(1, 101))
    page = render(report((static().model_copy(update={"findings": findings}),), ()), "md")["gate.md"]
    head, _, folded = page[page.index("## What blocks") : page.index("## Recommendations")].partition("<details>")
    assert len(re.findall(r"^\d+\. ", head, flags=re.MULTILINE)) == 5
    assert len(re.findall(r"^\d+\. ", folded, flags=re.MULTILINE)) == 95
    assert "<summary>95 more</summary>" in folded


def test_a_pass_names_its_scope() -> None:
    """A PASS speaks of the stages that ran, in the verdict itself, and says which did not and how to get them."""
    page = render(clean_report(), "md")["gate.md"]
    assert "## Verdict: PASS (static only), score 100.00 of 100.00" in page
    assert "- **performance** does not apply: not configured: set `[performance] workload`" in page
    assert "- not requested: execution, security and requirements; this verdict says nothing about them" in page
    assert "| [performance](performance.md) | NOT APPLICABLE | not scored |" in page
    assert summary(clean_report(), "reports/latest").startswith("PASS (static only)  100.00/100  demo")


def test_a_failure_that_does_not_block_is_called_one() -> None:
    """`Not shown` alone would read as if it had not been looked at."""
    failed = Check(id="execution.edge", title="t", status=Status.FAIL, required=False, actual="it died", remedy="r")
    page = render(report((execution().model_copy(update={"checks": (failed,), "findings": ()}),)), "md")["gate.md"]
    assert "Not shown: 1 check, the first `execution.edge` (FAIL): it died" in page


def test_a_pass_names_what_it_does_not_show() -> None:
    """What is waived, and what is not required and not green, stands below the verdict; waived checks come first."""
    checks = tuple(
        Check(id=f"execution.{name}", title=name, status=status, required=required, actual="why", remedy="the same way")
        for name, status, required in (
            ("fine", Status.PASS, True),
            ("asked-for-nothing", Status.NOT_APPLICABLE, True),
            ("partly", Status.PARTIAL, False),
            ("waived", Status.NOT_MEASURED, True),
        )
    )
    waiver = Waiver(checks=("execution.waived",), reason="r", owner="o", expires=TODAY)
    done = report((execution().model_copy(update={"checks": checks, "findings": ()}),), (waiver,))
    assert done.verdict is Verdict.PASS

    page = render(done, "md")["gate.md"]
    told = sections(page)
    assert re.findall(r"^- `(.+?)`", told["Not shown"], flags=re.MULTILINE) == ["execution.waived", "execution.partly"]
    assert f"waived until {TODAY}" in told["Not shown"]
    assert "Not shown: 2 checks, 1 of them waived" in page[: page.index("## Not shown")]
    assert "the same way (for `execution.partly`)" in told["Recommendations"]
    assert "the same way (for `execution.waived`)" in told["Recommendations"]
    assert "Not shown" in render(done, "html")["report.html"]
    lines = [line.split() for line in summary(done, "reports/latest").splitlines()]
    assert [line[2] for line in lines if line[:2] == ["not", "shown"]] == ["execution.waived", "execution.partly"]


def test_recommendations_go_by_urgency() -> None:
    """What blocks, then grave findings that do not, then evidence, then the rest; each remedy once."""
    told = sections(render(report(), "md")["gate.md"])["Recommendations"]
    assert re.findall(r"^\*\*(.+)\*\*$", told, flags=re.MULTILINE) == [
        "Before merging",
        "Soon",
        "To get the missing evidence",
    ]


def test_a_file_without_a_line_is_named_alone() -> None:
    """A test that died before a line of it ran."""
    (check,) = (each for each in execution().checks if each.status is Status.FAIL)
    bare = check.model_copy(
        update={"evidence": (Evidence(id="E-1", kind=EvidenceClass.EXECUTED, summary="s", path="test_it.py"),)}
    )
    told = summary(report((execution().model_copy(update={"checks": (bare,), "findings": ()}),)), "reports/latest")
    assert "  test_it.py: FAIL: " in told


def test_the_terminal_tells_a_reason_to_its_end() -> None:
    """What was expected takes the first hundred characters: a cut there would leave out what was found."""
    check = Check(id="execution.tests-ran", title="t", status=Status.FAIL, expected="e" * 150, actual="a" * 150)
    stage = execution().model_copy(update={"checks": (check,), "findings": ()})
    assert "a" * 150 in summary(report((stage,), ()), "reports/latest")


def test_page_of_a_stage_that_did_not_run_says_so() -> None:
    """An empty page that nobody filled is not good news."""
    page = render(clean_report(), "md")["execution.md"]
    assert "**This stage did not run**" in page
    assert "What is not on this page was not checked" in render(report(), "md")["requirements.md"]


def test_waived_is_visible_and_not_measured_is_loud() -> None:
    """A waived check never looks like a passed one."""
    pages = render(report(), "md")
    assert "| **NOT MEASURED**, waived until 2026-12-31 |" in pages["performance.md"]
    assert "| **NOT MEASURED** |" in pages["execution.md"]
    assert "| `execution.required-tests` | 2026-11-01 | **expired** | bob |" in pages["gate.md"]
    assert "✅" not in "".join(pages.values())


def test_measured_check_shows_its_number() -> None:
    """Value, interval, samples, device and class, from the measurement that the check names."""
    page = render(report(), "md")["performance.md"]
    assert "1.721 x (95 % interval 1.65 to 1.8), n = 5 per arm, on NVIDIA H200, measured" in page
    assert "fp32  ▂█▁▄▅  0.0099 to 0.0104 s" in page


def test_measured_failure_shows_its_number_on_the_first_screen() -> None:
    """The reason holds words only, so the number joins it here."""
    stage = performance()
    failed = stage.checks[0].model_copy(update={"status": Status.FAIL})
    page = render(report((stage.model_copy(update={"checks": (failed,)}),), ()), "md")["gate.md"]
    assert "measured: 1.721 x" in "".join(page.splitlines(keepends=True)[:10])


def pages(given: Report) -> dict[str, str]:
    return {name: text for name, text in render(given, "md").items() if name.endswith(".md")}


@pytest.mark.parametrize("kind", EVERY)
def test_score_tables_add_up(kind: str) -> None:
    """The printed parts make the printed sum, on every page."""
    sums = 0
    for name, page in pages(EVERY[kind]).items():
        table = sections(page).get("Score breakdown", "")
        numbers = re.findall(r"^\| [^*|]+ \| ([\d.]+) \| ([\d.]+) \|$", table, flags=re.MULTILINE)
        if total := re.search(r"\*\*Sum\*\* \| \*\*([\d.]+)\*\* \| \*\*([\d.]+)\*\*", table):
            sums += 1
            for column in (0, 1):
                assert sum(round(float(row[column]) * 100) for row in numbers) == round(float(total[column + 1]) * 100)
        else:
            assert not numbers, name
    assert bool(sums) is bool(EVERY[kind].parts)


def test_checks_with_all_points_share_one_row() -> None:
    """Only what lost points stands by itself; `report.json` has every part."""
    pages = render(report(), "md")
    merged = sections(pages["provenance.md"])["Score breakdown"]
    full = [part for part in report().parts if part.earned == part.possible]
    assert f"| {len(full)} checks with all points" in merged
    assert not any(f"`{part.check}`" in merged for part in full)
    assert all(f"`{part.check}`" in merged for part in report().parts if part.earned != part.possible)
    own = sections(pages["static.md"])["Score breakdown"]
    assert all(f"`{part.check}`" in own for part in report().parts if part.stage == "static" and part not in full)


def test_hostile_names_forge_nothing() -> None:
    """A test name with pipes, line ends, HTML, links and template syntax is one cell, and only words."""
    page = render(report(), "md")["execution.md"]
    assert not any("forged" in row[0] and len(row) == 1 for row in rows(page))
    assert sum("forged" in "".join(row) for row in rows(page)) == 1
    assert not any(row[0].strip() == "forged" for row in rows(page))
    assert "<script" not in page
    assert "](http" not in page
    assert "\x1b" not in page
    assert "\u202e" not in page
    assert "49" not in sections(page)["Tests"]
    outputs = [token for token in MARKDOWN.parse(page) if token.type == "fence" and "fake" in token.content]
    assert len(outputs) == 1
    assert "# forged heading" in outputs[0].content
    assert HOSTILE not in page


def test_hostile_strings_everywhere() -> None:
    """Put the same hostile name into every field that is a string: no page gains a heading, a script or a link."""
    every = (execution(), static(), performance(), completed_requirements())
    poisoned = Report.model_validate(_poison(report(every).model_dump()))
    assert pages(poisoned).keys() == set(PAGES)
    for name, page in pages(poisoned).items():
        tokens = MARKDOWN.parse(page)
        headings = [
            t.content
            for t in tokens
            if t.type == "inline" and t.level == 1 and t.map and page.split("\n")[t.map[0]].startswith("#")
        ]
        told = [heading for heading in headings if heading in SECTIONS[name].split("|")]
        assert len(told) == len(set(told))
        assert set(told) >= sections(pages(report(every))[name]).keys() & set(SECTIONS[name].split("|"))
        assert not any(heading.strip().startswith("forged") for heading in headings)
        for token in tokens:
            for child in token.children or ():
                if child.type == "link_open":
                    assert re.match(r"^(\.\./\.\./|\w+\.md|#)", str(child.attrs["href"]))
                if child.type == "html_inline":
                    assert child.content in ("<br>", "<code>", "</code>")
            if token.type == "html_block":
                assert re.match(r"^</?(details|summary)>", token.content)


_KEPT = {
    "verdict",
    "status",
    "severity",
    "certainty",
    "outcome",
    "kind",
    "state",
    "stage",
    "witnesses",
    "fix",
    "group",
    "answer",
    "tests",
}


def _poison(value, key: str = ""):
    """The same document with hostile text appended to every free string."""
    if isinstance(value, dict):
        return {k: _poison(v, k) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(_poison(item, key) for item in value)
    return f"{HOSTILE}\n# forged\n{value}" if type(value) is str and key not in _KEPT else value


def test_finding_is_told_in_full() -> None:
    """Line, impact, code, the path step by step, remedy, fix, confidence, witnesses, and an evidence id."""
    page = render(report(), "md")["static.md"]
    told = page[page.index("#### AMP201") : page.index("### HIGH")]
    assert "#### AMP201 clip-before-unscale at [demo/train_step.py:88](../../demo/train_step.py#L88)" in told
    assert f"**Impact of such code:** {IMPACT}" in told
    assert "> 88 |     torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)\n" in told
    assert "demo/loop.py\n  12 | def fit(trainer):\n> 13 |     trainer.train_step()\n" in told
    assert (
        "3. [demo/train_step.py:88](../../demo/train_step.py#L88) `CLIP clip_grad_norm_(model.parameters(), 1.0)`"
        in told
    )
    assert "```diff\n--- a/demo/train_step.py\n" in told
    assert "\n+    scaler.unscale_(optimizer)\n" in told
    assert "**Confidence:** critical, certain; witnesses: static" in told
    assert "**Why the tests did not catch it:** no test executes `Trainer.train_step`" in told
    assert "`verifygate explain AMP201`, `E-AMP201-3f2a9c1be07d`" in told
    assert "- **missing keys:** `train_data`" in page
    assert "(**it mentions AMP**)" in page


def test_requirements_page_traces() -> None:
    """Requirement to code, test and measurement, and what is missing between them; what is verified, in a row."""
    page = render(full(), "md")["requirements.md"]
    assert "1 of 4 requirements verified, 1 partly; 1 failed, 1 not measured." in page
    assert (
        "[demo/train_step.py:70](../../demo/train_step.py#L70) `Trainer.train_step` | `tests/test_amp.py::test_cuda` |"
        in page
    )
    assert "| `AMP-01` Requirement 1 | 0 | 0 | 0 | 1 |" in page
    assert "- `AMP-02` Requirement 2: no test and no measurement names it" in page
    assert "`AMP-99`" in sections(page)["Orphans"]


def test_what_is_green_takes_a_line() -> None:
    """A thousand passed tests and executed functions are counted; those that a person has to read about have a row."""
    given = execution()
    details = given.details
    assert isinstance(details, ExecutionDetails)
    tests = tuple(details.tests[0].model_copy(update={"id": f"tests/test_a.py::test_{n}"}) for n in range(1000))
    functions = tuple(details.functions[1].model_copy(update={"symbol": f"f{n}"}) for n in range(1000))
    more = details.model_copy(
        update={"tests": (*tests, *details.tests[12:]), "functions": (*functions, *details.functions)}
    )
    page = render(report((given.model_copy(update={"details": more}),), ()), "md")["execution.md"]
    assert "1000 tests passed; the longest took" in page
    assert "1001 of 1002 functions with AMP code are executed by a test" in page
    assert (
        "| `Trainer.train_step` [demo/train_step.py:70](../../demo/train_step.py#L70) | 70 to 95 | **no test** |"
        in page
    )
    assert len(page.encode()) < 8_000


def test_links_follow_the_prefix() -> None:
    """A report elsewhere links from there."""
    page = render(report(), "md", prefix="../")["gate.md"]
    assert "(../demo/train_step.py#L88)" in page
    assert "../../" not in page


@pytest.mark.parametrize("format", run_formats())
def test_every_format_is_a_pure_function(format: str) -> None:  # noqa: A002
    """The same report gives the same files, also after a trip to disk; and an empty one can be shown."""
    given = report()
    assert render(given, format) == render(Report.from_json(given.to_json()), format)
    assert set(render(report((), ()), format)) == set(files_of(format)) - set(SOMETIMES)


def test_huge_report_stays_showable() -> None:
    """Five thousand findings: totals are exact, the worst is shown, and the page is one that GitHub shows."""
    one = check_report().findings[0]
    low = replace(one, severity=Severity.LOW)
    findings = tuple(replace(low, line=n, fingerprint=f"{n:040}") for n in range(1, 5000))
    findings += (replace(one, path="zz.py", line=7),)
    stage = StageResult(stage="static", outcome=Outcome.COMPLETED, checks=static().checks, findings=findings)
    given = report((stage,), ())
    assert given.verdict is Verdict.BLOCK
    pages = render(given, "md")
    assert "4999 findings: 4999 low" in pages["gate.md"]
    assert "1 finding (1 critical)" in pages["gate.md"]
    assert "### LOW (4999)" in pages["static.md"]
    assert all("[zz.py:7]" in pages[name] for name in ("gate.md", "static.md"))
    assert all(len(page.encode()) < 512 * 1024 for page in pages.values())
