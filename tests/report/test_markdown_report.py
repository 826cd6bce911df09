"""The Markdown pages, read the way GitHub and a hurried reviewer read them."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from markdown_it import MarkdownIt
from report_sample import (
    HOSTILE,
    TODAY,
    check_report,
    clean_report,
    completed_requirements,
    execution,
    performance,
    report,
    static,
)

from verifygate.model import Check, Outcome, Report, Severity, StageResult, Status, Verdict, Waiver
from verifygate.report.formats import files_of, render, run_formats
from verifygate.report.markdown import PAGES, SOMETIMES
from verifygate.report.terminal import summary

MARKDOWN = MarkdownIt("commonmark", {"html": True}).enable("table")
SECTIONS = {
    "gate.md": (
        "Blocking reasons|What changed since the last report|Contradictions between stages|"
        "Not measured, and how to get the missing evidence|Waivers|Required actions before PASS|"
        "Score breakdown|Provenance"
    ),
    "execution.md": (
        "Executive summary|Test execution|AMP trace|Emulated CUDA run|Oracles|Code analysis: who executes the AMP code|"
        "Critical issues|Recommendations|Blocking criteria met|Required actions before PASS|Score breakdown|Audit trail"
    ),
    "static.md": (
        "Findings|Implementation evidence|Key mismatches|Hazards|Suppressions in force|Not analysed|Not followed|"
        "Score breakdown"
    ),
    "requirements.md": (
        "Coverage|Requirements|Business rules|Calculations|Domain edge cases|Data integrity|Architecture|"
        "Traceability matrix|Missing validations|Gaps and how to close them|Quality gates|Suspect links|Orphans|"
        "Metrics of the run|Regulatory"
    ),
    "performance.md": (
        "Targets|Protocol|Plots|Throughput|Step time|Memory anatomy|Bottlenecks|Effective steps|Accuracy parity|"
        "Hazards|Fix verification|Recommendations|Score breakdown"
    ),
}


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
def test_no_section_vanishes(kind: str, name: str) -> None:
    """Every section stands on every page, and says `none` or why there is nothing in it."""
    found = sections(render(EVERY[kind], "md")[name])
    titles = SECTIONS[name].split("|")
    assert set(titles) <= found.keys()
    assert [title for title in titles if not found[title].strip()] == []


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
    """Verdict, score, reasons with line and remedy, and the stages, before anything else."""
    screen = render(report(), "md")["gate.md"].split("\n")[:30]
    text = "\n".join(screen)
    assert "## Verdict: **BLOCK**, score 25.50 of 100.00" in text
    assert "[demo/train_step.py:88](../../demo/train_step.py#L88)" in text
    assert "Do: call `scaler.unscale_(optimizer)` before `clip_grad_norm_`" in text
    assert "| [static](static.md) | **BLOCK** | 40.00 | 1 | 2 | 0 | 0 | 0 | 0.42 s |" in text
    assert "| [requirements](requirements.md) | **BLOCK** (errored) |" in text


def test_first_screen_has_five_reasons_and_says_how_many_more() -> None:
    """A hundred findings do not push the stage table off the screen."""
    many = static().findings[0]
    findings = tuple(replace(many, line=n, fingerprint=f"{n:040}") for n in range(1, 101))
    page = render(report((static().model_copy(update={"findings": findings}),), ()), "md")["gate.md"]
    head = page[: page.index("| Stage |")]
    assert len(re.findall(r"^\d+\. ", head, flags=re.MULTILINE)) == 5
    assert "and 95 more" in head
    assert "All 100 reasons" in page


def test_first_screen_of_a_pass_names_what_did_not_run() -> None:
    """A PASS speaks of the stages that ran, and says which did not and how to get them."""
    page = render(clean_report(), "md")["gate.md"]
    assert "## Verdict: PASS" in page
    assert "for the stages that ran: performance did not" in page
    assert "- **performance** does not apply: not configured: set `[performance] workload`" in page
    assert "| [performance](performance.md) | NOT APPLICABLE | not scored |" in page


def test_first_screen_of_a_pass_names_what_it_does_not_show() -> None:
    """What is waived, and what is not required and not green, stands below the verdict; waived checks come first."""
    checks = tuple(
        Check(id=f"execution.{name}", title=name, status=status, required=required, actual="why")
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
    head = page[page.index("**Not shown by this PASS** (2 checks)") : page.index("| Stage |")]
    assert re.findall(r"^- `(.+?)`", head, flags=re.MULTILINE) == ["execution.waived", "execution.partly"]
    assert f"waived until {TODAY}" in head
    assert "Not shown by this PASS" in render(done, "html")["report.html"]
    lines = [line.split() for line in summary(done, "reports/latest").splitlines()]
    assert [line[2] for line in lines if line[:2] == ["not", "shown"]] == ["execution.waived", "execution.partly"]


def test_the_terminal_tells_a_reason_to_its_end() -> None:
    """What was expected takes the first hundred characters: a cut there would leave out what was found."""
    check = Check(id="execution.tests-ran", title="t", status=Status.FAIL, expected="e" * 150, actual="a" * 150)
    stage = execution().model_copy(update={"checks": (check,), "findings": ()})
    assert "a" * 150 in summary(report((stage,), ()), "reports/latest")


def test_page_of_a_stage_that_did_not_run_says_so() -> None:
    """`none` on a page that nobody filled is not good news."""
    page = render(clean_report(), "md")["execution.md"]
    assert "**This stage did not run**" in page
    assert "An empty section below means that nothing was checked" in render(report(), "md")["requirements.md"]


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
    assert "measured: 1.721 x" in page[: page.index("| Stage |")]


def pages(given: Report) -> dict[str, str]:
    return {name: text for name, text in render(given, "md").items() if name.endswith(".md")}


@pytest.mark.parametrize("kind", EVERY)
def test_score_tables_add_up(kind: str) -> None:
    """The printed parts make the printed sum, on every page."""
    sums = 0
    for name, page in pages(EVERY[kind]).items():
        table = sections(page)["Score breakdown"]
        numbers = re.findall(r"^\| [^*|]+ \| ([\d.]+) \| ([\d.]+) \|$", table, flags=re.MULTILINE)
        if total := re.search(r"\*\*Sum\*\* \| \*\*([\d.]+)\*\* \| \*\*([\d.]+)\*\*", table):
            sums += 1
            for column in (0, 1):
                assert sum(round(float(row[column]) * 100) for row in numbers) == round(float(total[column + 1]) * 100)
        else:
            assert not numbers, name
    assert bool(sums) is bool(EVERY[kind].parts)


def test_checks_with_all_points_share_one_row() -> None:
    """On the merged page only what lost points stands by itself; the page of the stage has every part."""
    pages = render(report(), "md")
    merged = sections(pages["gate.md"])["Score breakdown"]
    full = [part for part in report().parts if part.earned == part.possible]
    assert f"| {len(full)} checks with all points" in merged
    assert not any(f"`{part.check}`" in merged for part in full)
    assert all(f"`{part.check}`" in merged for part in report().parts if part.earned != part.possible)
    own = sections(pages["static.md"])["Score breakdown"]
    assert all(f"`{part.check}`" in own for part in report().parts if part.stage == "static")


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
    assert "49" not in sections(page)["Test execution"]
    outputs = [token for token in MARKDOWN.parse(page) if token.type == "fence" and "fake" in token.content]
    assert len(outputs) == 1
    assert "# forged heading" in outputs[0].content
    assert HOSTILE not in page


def test_hostile_strings_everywhere() -> None:
    """Put the same hostile name into every field that is a string: no page gains a heading, a script or a link."""
    poisoned = Report.model_validate(
        _poison(report((execution(), static(), performance(), completed_requirements())).model_dump())
    )
    assert pages(poisoned).keys() == set(PAGES)
    for name, page in pages(poisoned).items():
        tokens = MARKDOWN.parse(page)
        headings = [
            t.content
            for t in tokens
            if t.type == "inline" and t.level == 1 and t.map and page.split("\n")[t.map[0]].startswith("#")
        ]
        assert {heading for heading in headings if heading in SECTIONS[name].split("|")} == set(
            SECTIONS[name].split("|")
        )
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
    """Line, severity, remedy, the path step by step, why no test saw it, and an evidence id."""
    page = render(report(), "md")["static.md"]
    assert "#### AMP201 clip-before-unscale at [demo/train_step.py:88](../../demo/train_step.py#L88)" in page
    assert (
        "3. [demo/train_step.py:88](../../demo/train_step.py#L88) `CLIP clip_grad_norm_(model.parameters(), 1.0)`"
        in page
    )
    assert "**Why the tests did not catch it:** no test executes `Trainer.train_step`" in page
    assert "`E-AMP201-3f2a9c1be07d`" in page
    assert "- **missing keys:** `train_data`" in page
    assert "(**it mentions AMP**)" in page


def test_requirements_page_traces() -> None:
    """Requirement to code, test and measurement, and what is missing between them."""
    page = render(full(), "md")["requirements.md"]
    assert "- **Verified:** 1 of 4" in page
    assert (
        "[demo/train_step.py:70](../../demo/train_step.py#L70) `Trainer.train_step` | `tests/test_amp.py::test_cuda` |"
        in page
    )
    assert "- `AMP-02` Requirement 2: no test and no measurement names it" in page
    assert "`AMP-99`" in sections(page)["Orphans"]


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
    assert "5000 findings: 1 critical, 4999 low" in pages["gate.md"]
    assert "### LOW (4999)" in pages["static.md"]
    assert all("[zz.py:7]" in pages[name] for name in ("gate.md", "static.md"))
    assert all(len(page.encode()) < 512 * 1024 for page in pages.values())
