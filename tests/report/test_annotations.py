"""Formats that show a finding at its line: from the git root, every reason to block, inside the readers' limits."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from report_sample import CLIP, HOSTILE, RECREATED, check_report, execution, report, static
from test_published_formats import COUNT, TEXT, check_sarif, closed, some

from verifygate.model import Changes, Edit, Finding, PathStep, Place, Report, Severity
from verifygate.report import sarif
from verifygate.report.formats import render, render_check
from verifygate.report.github import render as render_github
from verifygate.sources.repository import folder_in_repository, path_in_repository, permalink, web_address

FIXED = replace(
    CLIP,
    edits=(Edit(path=CLIP.path, line=88, end_line=88, text="        scaler.unscale_(optimizer)\n        clip()\n"),),
)

POSITION = closed({"line": COUNT}, column=COUNT)
RDJSON = closed(
    {
        "source": closed({"name": TEXT}),
        "diagnostics": some(
            closed(
                {
                    "message": TEXT,
                    "location": closed({"path": TEXT, "range": closed({"start": POSITION}, end=POSITION)}),
                    "severity": {"enum": ["ERROR", "WARNING", "INFO"]},
                    "code": closed({"value": TEXT}, url={"type": "string", "pattern": "^https://"}),
                },
                suggestions=some(
                    closed({"range": closed({"start": POSITION, "end": POSITION}), "text": {"type": "string"}}), 1
                ),
            )
        ),
    }
)


def in_folder(folder: str, given: Report | None = None) -> Report:
    """The sample, of a project in a folder of its repository."""
    base = given or report()
    return base.model_copy(update={"provenance": base.provenance.model_copy(update={"folder": folder})})


def log(given: Report) -> dict[str, Any]:
    (text,) = render(given, "sarif").values()
    found: dict[str, Any] = json.loads(text)["runs"][0]
    return found


def uris(value: object) -> set[str]:
    """Every address of a file, wherever in a log it stands."""
    if isinstance(value, dict):
        own = {value["uri"]} if "uri" in value else set()
        return own.union(*(uris(each) for each in value.values()))
    return set().union(*(uris(each) for each in value)) if isinstance(value, list) else set()


def test_every_place_is_named_from_the_git_root() -> None:
    """In a monorepo the project's root is no root for those who show annotations."""
    given = in_folder("services/trainer", report((execution(), static()), ()))
    run = log(given)
    assert {uri for uri in uris(run) if not uri.startswith("services/trainer/")} == set()
    assert "services/trainer/demo/train_step.py" in uris(run["results"])
    assert run["automationDetails"] == {"id": "verifygate/run/services/trainer/"}
    (gitlab,) = render(given, "gitlab").values()
    assert all(each["location"]["path"].startswith("services/trainer/") for each in json.loads(gitlab))
    (rdjson,) = render(given, "rdjson").values()
    assert all(each["location"]["path"].startswith("services/trainer/") for each in json.loads(rdjson)["diagnostics"])
    (github,) = render(given, "github").values()
    assert github.count("::error file=") > 2
    assert github.count("file=services/trainer/") == github.count("file=")


@pytest.mark.parametrize(
    ("path", "folder", "found"),
    [
        ("train.py", "a/b", "a/b/train.py"),
        ("../c/train.py", "a/b", "a/c/train.py"),
        ("../../../train.py", "a/b", "../../../train.py"),
        ("/tmp/train.py", "a/b", "/tmp/train.py"),  # noqa: S108 - nothing is written there
        ("./train.py", "", "train.py"),
    ],
)
def test_a_path_from_the_git_root(path: str, folder: str, found: str) -> None:
    """What leaves the repository stays as it is."""
    assert path_in_repository(path, folder) == found


def test_the_folder_of_a_repository(tmp_path: Path) -> None:
    """The nearest folder with `.git`, which is a file in worktrees and submodules; outside there is none."""
    inner = tmp_path / "repo" / "a" / "b"
    inner.mkdir(parents=True)
    (tmp_path / "repo" / ".git").write_text("gitdir: elsewhere", encoding="utf-8")
    assert folder_in_repository(inner) == "a/b"
    assert folder_in_repository(tmp_path / "repo") == ""


@pytest.mark.parametrize(
    ("remote", "address"),
    [
        ("git@github.com:owner/name.git", "https://github.com/owner/name"),
        ("https://user:secret@github.com/owner/name.git", "https://github.com/owner/name"),
        ("ssh://git@gitlab.example:2222/group/sub/name.git", "https://gitlab.example/group/sub/name"),
        ("/srv/git/name.git", ""),
        ("../name", ""),
        ("file:///srv/name", ""),
        ("https://github.com/owner/na me", ""),
        ("", ""),
    ],
)
def test_the_web_address_of_a_remote(remote: str, address: str) -> None:
    """Whatever the protocol; credentials never come along."""
    assert web_address(remote) == address


def test_permalinks_follow_ci_first() -> None:
    """What CI says of itself, else the remote; none for what is no commit, nor for a host that nobody knows."""
    github = {"GITHUB_SERVER_URL": "https://github.example", "GITHUB_REPOSITORY": "owner/name"}
    assert permalink("abc", "git@gitlab.com:o/n.git", github) == "https://github.example/owner/name/blob/abc/"
    assert permalink("abc", "", {"CI_PROJECT_URL": "https://gl.example/g/n"}) == "https://gl.example/g/n/-/blob/abc/"
    assert permalink("abc", "git@github.com:o/n.git", {}) == "https://github.com/o/n/blob/abc/"
    assert permalink("abc", "git@gitlab.com:g/s/n.git", {}) == "https://gitlab.com/g/s/n/-/blob/abc/"
    assert permalink("abc", "git@git.example:o/n.git", {}) == ""
    assert permalink("abc+changes", "git@github.com:o/n.git", {}) == ""
    assert permalink("none", "", github) == ""


@pytest.mark.parametrize("name", ["sarif", "gitlab", "rdjson", "github"])
def test_every_reason_to_block_is_there(name: str) -> None:
    """A red test and a stage that could not run are as visible as a finding, each once."""
    given = report()
    assert {reason.condition for reason in given.reasons} >= {"finding", "check-failed", "stage-errored"}
    (text,) = render(given, name).values()
    for subject in ("execution.tests-pass", "requirements.stage-errored"):
        assert subject in text
    if name == "sarif":
        blocking = [each for each in log(given)["results"] if each["properties"]["blocks"]]
        assert len(blocking) == len(given.reasons)
    if name == "gitlab":
        assert len([each for each in json.loads(text) if each["check_name"] == "execution.tests-pass"]) == 1


def test_a_rule_comes_with_its_page() -> None:
    """The page of the documentation, as text and as Markdown; nothing says that it is about security."""
    rule = next(each for each in log(report())["tool"]["driver"]["rules"] if each["id"] == "AMP201")
    assert "65536" in rule["help"]["markdown"]
    assert "```python" in rule["help"]["markdown"]
    assert "```" not in rule["help"]["text"]
    assert rule["fullDescription"]["text"].startswith("Gradients are clipped while they are still multiplied")
    assert rule["helpUri"].startswith("https://docs.pytorch.org/")
    assert rule["properties"]["problem.severity"] == "error"
    assert "security-severity" not in rule["properties"]


def test_baseline_state() -> None:
    """New and unchanged, where a comparison says so; where none was made, nobody knows."""
    stage = static()
    given = report((stage,), ())
    assert all("baselineState" not in each for each in log(given)["results"])
    changed = given.model_copy(update={"changes": Changes(against="main", new=(CLIP,), open=(RECREATED,))})
    states = {each["ruleId"]: each["baselineState"] for each in log(changed)["results"] if "baselineState" in each}
    assert states["AMP201"] == "new"
    assert states["AMP301"] == "unchanged"


def test_a_suppressed_finding_is_told_and_is_no_alert() -> None:
    """Code scanning opens an alert for a result with `suppressions`, so there is none."""
    run = log(report())
    assert all(each["ruleId"] != "AMP304" for each in run["results"])
    notes = run["invocations"][0]["toolExecutionNotifications"]
    assert any(each["message"]["text"].startswith("suppressed: AMP304") and each["level"] == "note" for each in notes)


def test_only_a_proven_fix_is_offered() -> None:
    """Lines to replace, in SARIF and for reviewdog; a fix that was only built is a property."""
    run = log(report((static().model_copy(update={"findings": (FIXED, RECREATED)}),), ()))
    check_sarif({"version": "2.1.0", "runs": [run]})
    (change,) = run["results"][0]["fixes"][0]["artifactChanges"]
    assert change["replacements"] == [
        {
            "deletedRegion": {"startLine": 88, "startColumn": 1, "endLine": 89, "endColumn": 1},
            "insertedContent": {"text": FIXED.edits[0].text},
        }
    ]
    assert "fixes" not in run["results"][1]
    diagnostics = json.loads(render_check(check_report(FIXED, RECREATED), "rdjson"))["diagnostics"]
    assert diagnostics[0]["suggestions"][0]["range"] == {"start": {"line": 88}, "end": {"line": 88}}
    assert diagnostics[0]["suggestions"][0]["text"].endswith("        clip()")
    assert "suggestions" not in diagnostics[1]


@pytest.mark.parametrize(
    "text",
    [
        next(iter(render(report(), "rdjson").values())),
        render_check(check_report(FIXED, replace(RECREATED, message=HOSTILE)), "rdjson"),
        render_check(replace(check_report(), findings=()), "rdjson"),
    ],
    ids=["run", "check", "clean"],
)
def test_rdjson_is_what_reviewdog_reads(text: str) -> None:
    """Every field of its schema, and no other."""
    jsonschema.Draft202012Validator(RDJSON).validate(json.loads(text))


def test_rdjson_counts_columns_in_bytes_or_not_at_all() -> None:
    """A line with letters beyond ASCII has no column: reviewdog counts bytes, and a finding counts characters."""
    odd = replace(CLIP, snippet="größe = clip()")
    starts = [
        each["location"]["range"]["start"]
        for each in json.loads(render_check(check_report(CLIP, odd), "rdjson"))["diagnostics"]
    ]
    assert starts == [{"line": 88, "column": 9}, {"line": 88}]


def test_rdjson_of_check_is_for_reviewdog_beside_it() -> None:
    """At the end of a pipe reviewdog stands in the same folder, and adds the way to it."""
    (first, *_) = json.loads(render_check(replace(check_report(), folder="sub"), "rdjson"))["diagnostics"]
    assert first["location"]["path"] == CLIP.path


def many(number: int, **changed: Any) -> tuple[Finding, ...]:
    """Findings that differ, the worst of them last."""
    severities = (Severity.LOW, Severity.MEDIUM, Severity.HIGH, Severity.CRITICAL)
    return tuple(
        replace(CLIP, line=at + 1, end_line=at + 1, fingerprint=f"{at:024x}", severity=severities[at * 4 // number])
        if not changed
        else replace(CLIP, line=at + 1, end_line=at + 1, fingerprint=f"{at:024x}", **changed)
        for at in range(number)
    )


@pytest.mark.slow
def test_thirty_thousand_findings_fit() -> None:
    """The most severe stay, the total is exact, and a notification says what was cut."""
    text = render_check(check_report(*many(30_000)), "sarif")
    run = json.loads(text)["runs"][0]
    assert len(run["results"]) == sarif.MAX_RESULTS
    assert [each["properties"]["severity"] for each in run["results"]].count("low") == 2_500
    assert run["properties"]["findings"] == 30_000
    (told,) = run["invocations"][0]["toolExecutionNotifications"]
    assert told["message"]["text"].startswith("5,000 of 30,000 results left out, the least severe")
    assert len(gzip.compress(text.encode())) < 10_000_000


def test_long_paths_and_many_places_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    """One result shows a hundred places and ten thousand steps; all results together fit into the upload."""
    steps = tuple(PathStep(path="a.py", line=at + 1, text=f"step {at}") for at in range(12_000))
    places = tuple(Place(path="a.py", line=at + 1, end_line=at + 1, text="x") for at in range(300))
    (result,) = json.loads(render_check(check_report(replace(CLIP, steps=steps, places=places)), "sarif"))["runs"][0][
        "results"
    ]
    flow = result["codeFlows"][0]["threadFlows"][0]["locations"]
    assert len(flow) == sarif.MAX_STEPS
    assert flow[-1]["location"]["message"]["text"] == "step 11999"
    assert (len(result["relatedLocations"]), result["properties"]["places"]) == (sarif.MAX_PLACES, 300)
    monkeypatch.setattr(sarif, "MAX_COMPRESSED", 100_000)
    text = render_check(check_report(*many(400, steps=steps[:300])), "sarif")
    run = json.loads(text)["runs"][0]
    assert 0 < len(run["results"]) < 400
    assert len(gzip.compress(text.encode())) < 10_000_000 / 6_000_000 * 100_000
    assert "left out" in run["invocations"][0]["toolExecutionNotifications"][0]["message"]["text"]


INJECTED = "x\n::error file=forged.py::forged\r\n]]><failure/> ![a](javascript:x) `@team` \x1b[31m\u200b\u202e%0A::stop"


def test_annotations_hold_no_second_command() -> None:
    """Neither a message nor a path, a title or a snippet begins a workflow command of its own."""
    hostile = replace(CLIP, path=f"a{INJECTED}.py", message=INJECTED, name=INJECTED, remedy=INJECTED, snippet=INJECTED)
    for text in (
        render_check(check_report(hostile), "github"),
        *render_github(report((static().model_copy(update={"findings": (hostile,)}),), ())).values(),
    ):
        commands = [line for line in text.splitlines() if line.startswith("::")]
        assert not [line for line in commands if "file=forged.py" in line[:20]]
        assert not set("\x1b\u200b\u202e\r") & set(text)
        assert all(line.count("::") >= 2 for line in commands)
        assert not [line for line in text.splitlines() if line.startswith(("::stop", "::error file=forged"))]


@pytest.mark.parametrize("name", ["sarif", "gitlab", "rdjson", "junit"])
def test_injected_text_is_only_text(name: str) -> None:
    """No control, invisible or bidirectional character reaches a message; markup and links stay words."""
    hostile = replace(CLIP, message=INJECTED, name=INJECTED, remedy=INJECTED)
    text = render_check(check_report(hostile), name)
    assert not set("\x1b\u200b\u202e\r") & set(text)
    for escape in ("\\u001b", "\\u200b", "\\u202e", "\\n::"):
        assert escape not in text
    if name == "sarif":
        assert "](" not in json.loads(text)["runs"][0]["results"][0]["message"]["text"]
    if name == "junit":
        assert text.count("<failure") == 1
        assert "]]>" not in text.replace("]]&gt;", "")


MONOREPO = """import torch
from torch.amp import GradScaler

def train(model, optimizer, loader):
    scaler = GradScaler()
    for batch in loader:
        scaler.scale(model(batch)).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
"""


def test_check_in_a_folder_of_a_repository(tmp_path: Path) -> None:
    """The command itself, in a subfolder: the annotation names a file that is there from the root."""
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    sub = tmp_path / "services" / "trainer"
    sub.mkdir(parents=True)
    (sub / "train.py").write_text(MONOREPO, encoding="utf-8")
    for name in ("github", "sarif"):
        ended = subprocess.run(
            [sys.executable, "-m", "verifygate", "check", "--format", name], cwd=sub, capture_output=True, text=True
        )
        assert ended.returncode == 1, ended.stderr
        assert "services/trainer/train.py" in ended.stdout
        command = [sys.executable, "-m", "verifygate", "check", "--format", name, str(sub / "train.py")]
        ended = subprocess.run(command, cwd=sub, capture_output=True, text=True)
        assert "services/trainer/train.py" in ended.stdout
        assert str(tmp_path) not in ended.stdout  # named by its absolute path, it is the same file
    assert (tmp_path / "services/trainer/train.py").is_file()
