"""The outer contract of the command line: what it prints where, and the exit code it leaves with."""

from __future__ import annotations

import errno
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import jsonschema
import pytest

from verifygate.base.errors import UsageError
from verifygate.cli import main
from verifygate.config.settings import Settings, load
from verifygate.model import Report
from verifygate.report.formats import render
from verifygate.static import registry

SCHEMAS = Path(__file__).parent.parent / "verifygate" / "docs" / "schemas"
FINDING = """\
import torch


def train(model, optimizer, scaler, batches):
    for batch in batches:
        optimizer.zero_grad()
        scaler.scale(model(batch)).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
"""
CLEAN = FINDING.replace("        torch.nn.utils", "        scaler.unscale_(optimizer)\n        torch.nn.utils")
REQUIREMENTS = """\
title: A training loop
requirements:
  - id: R-1
    title: Clip after unscale
    text: Unscale before clipping.
    group: data-integrity
    severity: critical
    verify:
      - rule: AMP201
      - test: test_train.py
"""
TEST = "from train import train\n\n\ndef test_train():\n    assert callable(train)\n"


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with one sound program, as the working directory; `.git` ends the search for a configuration."""
    (tmp_path / ".git").mkdir()
    (tmp_path / "train.py").write_text(CLEAN, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def listing(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


# -- exit codes and streams --------------------------------------------------------------------------------------


def test_check_without_findings_ends_0(project: Path, capsys: pytest.CaptureFixture[str]):
    """Nothing found: exit code 0, the count on stdout, nothing on stderr."""
    assert main(["check"]) == 0
    printed = capsys.readouterr()
    assert printed.out.endswith("\n\nNo findings in 1 file; 1 place not followed.\n")
    assert "train.py:7: this line uses AMP, and what switches it on is not followed" in printed.out
    assert printed.err == ""


@pytest.mark.parametrize(("words", "on"), [(["--emulate-cuda"], True), (["--no-emulate-cuda"], False), ([], False)])
def test_the_command_line_says_whether_cuda_is_emulated(
    project: Path, monkeypatch: pytest.MonkeyPatch, words: list[str], on: bool
):
    """And the configuration does where it says nothing."""
    (project / "verifygate.toml").write_text("[execution]\nemulate_cuda = false\n", encoding="utf-8")
    asked: list[bool] = []

    def stop(settings: Settings, *_: object) -> None:
        asked.append(settings.execution.emulate_cuda)
        raise UsageError("enough")

    monkeypatch.setattr("verifygate.gate.run.run", stop)
    assert (main(["run", *words]), asked) == (2, [on])


def test_check_with_findings_ends_1(project: Path, capsys: pytest.CaptureFixture[str]):
    """Findings: exit code 1, each with its place on stdout, nothing on stderr."""
    (project / "train.py").write_text(FINDING, encoding="utf-8")
    assert main(["check", "train.py"]) == 1
    printed = capsys.readouterr()
    assert printed.out.startswith("train.py:8:9: AMP201 clip-before-unscale [critical, certain]")
    assert printed.err == ""


def test_check_with_nothing_but_notes_ends_0(project: Path, capsys: pytest.CaptureFixture[str]):
    """A note is printed and stops nobody; beside a finding of any other severity the exit code is 1."""
    note = "import lightning as L\n\ntrainer = L.Trainer(precision='bf16-mixed')\n"
    (project / "train.py").write_text(note, encoding="utf-8")
    assert main(["check", "train.py"]) == 0
    assert "AMP503 delegated-precision [info, certain]" in capsys.readouterr().out
    assert main(["check", "--no-cache", "train.py"]) == 0
    (project / "train.py").write_text(f"{note}{FINDING}", encoding="utf-8")
    assert main(["check", "train.py"]) == 1


BROKEN = "from torch.amp import autocast\ndef f(:\n"
NEWER = "from torch.amp import autocast\ntype X = int\ndef f(:\n"


@pytest.mark.parametrize(
    ("text", "name", "imports", "named", "code"),
    [
        ("def f(:\n", "broken.py", "import broken\n", ["broken.py", "train.py"], 1),  # of AMP it says nothing
        ("import torch\n<<<<<<< HEAD\nx = 1\n=======\nx = 2\n>>>>>>> b\n", "broken.py", "", [], 2),  # half merged
        (BROKEN, "broken.py", "", [], 2),
        (BROKEN, "broken.py", "import broken\n", [], 2),
        (BROKEN, "broken.py", "", ["broken.py", "train.py"], 2),
        (BROKEN + "if __name__ == '__main__':\n    f()\n", "broken.py", "", [], 2),
        (BROKEN, "test_broken.py", "", [], 2),  # pytest starts it
        (NEWER, "broken.py", "", [], 2),  # another Python may run it
        (BROKEN.encode() + b"# \xff\n", "broken.py", "", [], 2),  # no text: nothing is known of it
    ],
)
def test_file_that_cannot_be_analysed_is_named(
    project: Path,
    capsys: pytest.CaptureFixture[str],
    text: str | bytes,
    name: str,
    imports: str,
    named: list[str],
    code: int,
):
    """It stands on stderr either way, and exit code 2 says so where it may have a part in a program that uses AMP."""
    (project / name).write_bytes(text if isinstance(text, bytes) else text.encode())
    (project / "train.py").write_text(FINDING + imports, encoding="utf-8")
    assert main(["check", *named]) == code
    printed = capsys.readouterr()
    assert "AMP201" in printed.out
    assert printed.err.startswith(f"verifygate: not analysed: {name}: ")
    assert len(printed.err.splitlines()) == 1


def test_rule_that_crashes_costs_itself(project: Path, capsys: pytest.CaptureFixture[str], monkeypatch):
    """What the others find is told; a gate that lost a rule must not pass: exit code 2, one line, no traceback."""
    (project / "train.py").write_text(f"{FINDING}\n\nSCALER = torch.cuda.amp.GradScaler()\n", encoding="utf-8")
    main(["check", "--no-cache", "--format", "json"])
    whole = json.loads(capsys.readouterr().out)["findings"]
    _break_a_rule(monkeypatch)
    assert main(["check", "--no-cache", "--format", "json"]) == 2
    printed = capsys.readouterr()
    assert "train.py: AMP201 clip-before-unscale gave up" in printed.err
    assert "ZeroDivisionError in test_cli.py" in printed.err
    assert len(printed.err.splitlines()) == 1
    assert {each["rule"] for each in whole} == {"AMP201", "AMP501"}
    assert json.loads(printed.out)["findings"] == [each for each in whole if each["rule"] != "AMP201"]


def test_rule_that_crashes_blocks_a_run(project: Path, monkeypatch: pytest.MonkeyPatch):
    """In `run` its check is not measured, the others are judged, and the verdict is BLOCK."""
    (project / "train.py").write_text(f"{FINDING}\n\nSCALER = torch.cuda.amp.GradScaler()\n", encoding="utf-8")
    _break_a_rule(monkeypatch)
    assert main(["run", "--stage", "static"]) == 1
    report = read(project)
    (stage,) = report["stages"]
    assert (report["verdict"], stage["outcome"]) == ("BLOCK", "completed")
    status = {each["id"]: each["status"] for each in stage["checks"]}
    assert (status["static.AMP201"], status["static.analysed"]) == ("NOT MEASURED", "FAIL")
    assert status["static.AMP501"] == "PARTIAL"
    assert "ZeroDivisionError" in stage["details"]["not_analysed"][0]["reason"]


def test_a_fault_is_seen_where_the_gate_itself_is_tested(
    project: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    """One line, and exit code 3: the tests of rules would not notice a rule that broke otherwise."""
    _break_a_rule(monkeypatch)
    monkeypatch.setenv("VERIFYGATE_RAISE", "1")
    assert main(["check", "--no-cache"]) == 3
    printed = capsys.readouterr()
    assert printed.out == ""
    assert "the gate itself broke: ZeroDivisionError" in printed.err
    assert len(printed.err.splitlines()) == 1


def _break_a_rule(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("VERIFYGATE_RAISE", raising=False)
    broken = dict(registry.load_rules())
    code = "AMP201"
    loaded = broken[code]
    broken[code] = type(loaded)(loaded.rule, lambda _analysis: 1 // 0, loaded.text, loaded.module)
    monkeypatch.setattr(registry, "load_rules", lambda: broken)


# -- check --format json -----------------------------------------------------------------------------------------

CONTRACT = {
    "rule", "name", "path", "line", "column", "end_line", "severity", "certainty", "message", "fingerprint", "fix",
}  # fmt: skip


def test_json_keeps_the_contract(project: Path, capsys: pytest.CaptureFixture[str]):
    """The object, and each finding in it, has the documented keys and fits the published schema."""
    (project / "train.py").write_text(FINDING, encoding="utf-8")
    (project / "broken.py").write_text("# autocast\ndef f(:\n", encoding="utf-8")
    assert main(["check", "--format", "json", "broken.py", "train.py"]) == 2
    document = json.loads(capsys.readouterr().out)

    head = {"schema_version", "files_checked", "folder", "contract", "stood_before", "in_baseline", "fail_on"} | {
        "contract_changes"
    }
    assert set(document) == head | {"findings", "not_analysed", "not_followed", "left_out", "contract_changes"}
    assert (document["schema_version"], document["files_checked"]) == (1, 1)
    (finding,) = document["findings"]
    assert set(finding) >= CONTRACT
    assert {key: finding[key] for key in ("rule", "path", "line", "certainty")} == {
        "rule": "AMP201",
        "path": "train.py",
        "line": 8,
        "certainty": "certain",
    }
    assert [set(lost) >= {"path", "reason"} for lost in document["not_analysed"]] == [True]
    schema = json.loads((SCHEMAS / "check.schema.json").read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator(schema).validate(document)


def test_fingerprint_survives_edits_elsewhere(project: Path, capsys: pytest.CaptureFixture[str]):
    """Lines put in above a finding move its line and not its fingerprint; the path is printed as it was given."""
    seen = []
    for text in (FINDING, "'''Longer.'''\n\n" + FINDING):
        (project / "train.py").write_text(text, encoding="utf-8")
        main(["check", "--format", "json", str(project / "train.py")])
        (finding,) = json.loads(capsys.readouterr().out)["findings"]
        assert finding["path"] == (project / "train.py").as_posix()
        seen.append((finding["line"], finding["fingerprint"]))
    assert seen[0][0] + 2 == seen[1][0]
    assert seen[0][1] == seen[1][1]


def test_where_all_fixes_are_of_likely_findings_the_last_line_says_unsafe(
    project: Path, capsys: pytest.CaptureFixture[str]
):
    """`fix --diff` alone would show nothing of them."""
    unscales = "if unscales:\n            scaler.unscale_(optimizer)\n        torch.nn.utils.clip"
    text = FINDING.replace("torch.nn.utils.clip", unscales).replace("batches):", "batches, unscales):")
    (project / "train.py").write_text(text, encoding="utf-8")
    assert main(["check", "--select", "AMP201"]) == 1
    out = capsys.readouterr().out
    assert "[critical, likely]" in out
    assert "`verifygate fix --diff --unsafe` says whether a fix applies" in out


def test_select_and_ignore_take_codes_names_and_families(project: Path, capsys: pytest.CaptureFixture[str]):
    """What is selected runs, what is ignored does not."""
    (project / "train.py").write_text(FINDING, encoding="utf-8")
    assert main(["check", "--select", "clip-before-unscale"]) == 1
    assert main(["check", "--select", "AMP2,KEY101"]) == 1
    assert main(["check", "--select", "AMP5"]) == 0
    assert main(["check", "--ignore", "AMP201"]) == 0


def test_check_ends_in_what_was_fixable_and_suppressed(project: Path, capsys: pytest.CaptureFixture[str]):
    """The last line says what `fix` would do, what comments hide, and which rules were silent."""
    old = "import torch\n\nscaler = torch.cuda.amp.GradScaler()"
    (project / "old.py").write_text(f"{old}\nother = torch.cuda.amp.GradScaler('cuda')\n", encoding="utf-8")
    (project / "hidden.py").write_text(f"{old}  # verifygate: ignore[AMP501] torch 2.1\n", encoding="utf-8")
    assert main(["check", "--select", "AMP501"]) == 1
    last = capsys.readouterr().out.splitlines()[-1]
    only_here = "exit code 1, though none would block `run`: `--fail-on high,certain` lets them pass"
    fixable = "`verifygate fix --diff` says whether a fix applies"
    gap = "1 place not followed"
    assert last == f"1 finding (1 low) in 3 files; {gap}; {fixable}; 1 suppressed; {only_here}"
    (project / "old.py").write_text(f"{old}\nother = torch.cuda.amp.GradScaler('cuda')\n", encoding="utf-8")
    assert main(["check", "--format", "github", "--select", "AMP501"]) == 1
    assert capsys.readouterr().out.splitlines()[-1] == f"1 finding (1 low) in 3 files; {gap}; 1 suppressed; {only_here}"
    (project / "verifygate.toml").write_text('[static]\ntorch_version = "2.1"\n', encoding="utf-8")
    (project / "old.py").unlink()
    assert main(["check"]) == 0
    told = "No findings in 2 files; 1 place not followed; AMP501 not applied: the project supports torch 2.1.\n"
    assert capsys.readouterr().out.endswith(told)


# -- bad input ---------------------------------------------------------------------------------------------------

SPEC = '[requirements]\nspec = "spec.yaml"\n'
WAIVER = '[[waivers]]\nowner = "o"\nexpires = 2030-01-01\n'
WAIVER_OF_X = WAIVER + 'reason = "r"\nchecks = ["static.x"]\n'
TARGETS = "[performance.targets]\n"
BAD_CONFIGURATIONS = {
    "malformed": ("[project\n", "", "verifygate.toml:1: ", "correct this line"),
    "empty-value": ('[project]\nname = "a"\nsources =\n', "", "verifygate.toml:3: ", "correct this line"),
    "unknown-key": ('[project]\nsorces = ["."]\n', "", "verifygate.toml:2: ", "did you mean `sources`?"),
    "unknown-table": ("[projekt]\n", "", "verifygate.toml:1: ", "did you mean `project`?"),
    "number-in-quotes": (TARGETS + 'speedup = "1.5"\n', "", "verifygate.toml:2: ", "write 1.5 without quotes"),
    "percentage": (TARGETS + 'memory_reduction = "40%"\n', "", "verifygate.toml:2: ", "write 0.4 without quotes"),
    "nan": (TARGETS + "speedup = nan\n", "", "verifygate.toml:2: ", "finite"),
    "out-of-range": (TARGETS + "memory_reduction = 40\n", "", "verifygate.toml:2: ", "less than 1"),
    "missing-source": ('[project]\nsources = ["nope.py"]\n', "", "verifygate.toml:2: ", "correct the path"),
    "source-outside": ('[project]\nsources = ["../"]\n', "", "verifygate.toml:2: ", "outside the project's root"),
    "spec-outside": ('[requirements]\nspec = "/etc/passwd"\n', "", "verifygate.toml:2: ", "outside the project's root"),
    "unknown-rule": ('[static]\nselect = ["AMP999"]\n', "", "verifygate.toml:2: ", "no rule `AMP999`"),
    "unknown-ignored-rule": ('[static]\n\nignore = ["AMP2", "clip"]\n', "", "verifygate.toml:3: ", "no rule `clip`"),
    "unknown-rule-per-file": ('[static]\nper_file_ignores = {"a" = ["AMX9"]}\n', "", "verifygate.toml:2: ", "no rule"),
    "text-for-a-list": ('[static]\nselect = "AMP2"\n', "", "verifygate.toml:2: ", 'write it in brackets: ["AMP2"]'),
    "number-for-a-text": ("[static]\ntorch_version = 2.4\n", "", "verifygate.toml:2: ", 'write it in quotes: "2.4"'),
    "text-for-a-flag": ('[execution]\ncoverage = "yes"\n', "", "verifygate.toml:2: ", "write true or false"),
    "misspelt-severity": ('[verdict]\nblock = ["hgih"]\n', "", "verifygate.toml:2: ", "did you mean `high`?"),
    "no-such-stage": ("[verdict.weights]\nstatik = 3\n", "", "verifygate.toml:1: ", "the stages are execution"),
    "no-interpreter": ('[execution]\ninterpreter = "no/python"\n', "", "verifygate.toml:2: ", "does not exist"),
    "interpreter-is-text": ('[execution]\ninterpreter = "train.py"\n', "", "verifygate.toml:2: ", "cannot be executed"),
    "waiver-of-all": (WAIVER + 'reason = "r"\nchecks = ["*"]\n', "", "verifygate.toml:1: ", "one by one"),
    "waiver-without-reason": (WAIVER + 'checks = ["static.AMP201"]\n', "", "verifygate.toml:1: ", "`waivers.0.reason`"),
    "last-waiver": (2 * WAIVER_OF_X + WAIVER_OF_X.replace('"r"', '" "'), "", "verifygate.toml:11: ", "needs a reason"),
    "waiver-without-a-day": (WAIVER_OF_X.replace("2030-01-01", '"soon"'), "", "verifygate.toml:3: ", "as 2027-03-31"),
    "spec-missing": (SPEC, None, "verifygate.toml:2: ", "`spec.yaml` does not exist"),
    "spec-malformed": (SPEC, "title: [\n", "spec.yaml:2: ", "not valid YAML"),
    "spec-duplicate-key": (SPEC, "title: a\nversion: '1'\ntitle: b\n", "spec.yaml:3: ", "first on line 1"),
    "spec-anchor": (SPEC, "title: &a x\nother: *a\n", "spec.yaml:1: ", "write the value out"),
    "spec-list": (SPEC, "- a\n- b\n", "spec.yaml:1: ", "key: value"),
    "spec-empty": (SPEC, "", "spec.yaml", ""),
    "spec-tag": (SPEC, "title: !!python/object:os.system x\n", "spec.yaml:1: ", ""),
    "spec-deep": (SPEC, "title: " + "[" * 5000 + "\n", "spec.yaml", ""),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD_CONFIGURATIONS)
def test_bad_configuration_is_one_clear_line(project: Path, capsys: pytest.CaptureFixture[str], name: str):
    """One line on stderr names file, line and remedy; exit code 2; nothing is run and nothing written."""
    text, spec, where, remedy = BAD_CONFIGURATIONS[name]
    (project / "verifygate.toml").write_text(text, encoding="utf-8")
    if spec is not None:
        (project / "spec.yaml").write_text(spec, encoding="utf-8")
    before = listing(project)

    assert main(["run"]) == 2
    one_line(capsys, where, remedy, "(")
    assert listing(project) == before


@pytest.mark.parametrize(
    ("written", "instead"), [("1e-2", "0.01"), ("40%", "0.4"), ("'0.4'", "0.4"), (".9x", "a number")]
)
def test_number_that_yaml_reads_as_text_is_refused(
    project: Path, capsys: pytest.CaptureFixture[str], written: str, instead: str
):
    """`1e-2` is text to YAML 1.1; a threshold that is text never compares, so it is refused with what to write."""
    (project / "verifygate.toml").write_text(SPEC, encoding="utf-8")
    (project / "spec.yaml").write_text(f"{REQUIREMENTS}gates:\n  coverage: {written}\n", encoding="utf-8")
    assert main(["run", "--stage", "static"]) == 2
    at = REQUIREMENTS.count("\n") + 2
    one_line(capsys, f"spec.yaml:{at}: ", "`gates.coverage`", f"write {instead} without quotes")


@pytest.mark.parametrize(
    ("arguments", "where", "remedy"),
    [
        (["check", "nope.py"], "nope.py: ", "give a path that exists"),
        (["check", "empty"], "empty: ", "no Python file found"),
        (["check", "--select", "AMP999"], "no rule `AMP999`", "did you mean"),
        (["check", "--format", "xml"], "xml", "--help"),
        (["check", "--config", "nope.toml"], "nope.toml: ", "no such file"),
        (["check", "--config", "empty"], "empty: ", "not a file"),
        (["check", "--no-such-option"], "--no-such-option", "--help"),
        (["run", "--format", "xml"], "xml", "md, json, html"),
        (["run", "--stage", "everything"], "everything", "'static'"),
        (["run", "--baseline", "nope.json"], "nope.json: ", "report.json"),
        (["run", "--baseline", "half.json"], "half.json:1: ", "not valid JSON"),
        (["run", "--baseline", "other.json"], "other.json: ", "not a report of this schema"),
        (["run", "--stage", "static", "--report-dir", "train.py"], "train.py: ", "--report-dir"),
        (["run", "--stage", "static", "--report-dir", "."], ": ", "--report-dir"),
        (["compare", "half.json", "other.json"], ".json", "report"),
        (["explain", "AMP999"], "no rule `AMP999`", "did you mean"),
        (["docs", "nope"], "no page `nope`", "there are"),
        (["nope"], "nope", "--help"),
    ],
    ids=" ".join,
)  # fmt: skip
def test_wrong_usage_is_one_clear_line(
    project: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], where: str, remedy: str
):
    """Exit code 2, one line that says what was wrong and what would be right, and no file touched."""
    (project / "empty").mkdir()
    (project / "half.json").write_text('{"schema_version": 1,', encoding="utf-8")
    (project / "other.json").write_text("{}", encoding="utf-8")
    before = listing(project)
    assert main(arguments) == 2
    one_line(capsys, where, remedy)
    assert listing(project) == before


def one_line(capsys: pytest.CaptureFixture[str], *parts: str) -> None:
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.startswith("verifygate: error: ")
    assert printed.err.count("\n") == 1, printed.err
    for part in parts:
        assert part in printed.err


# -- run ---------------------------------------------------------------------------------------------------------


def read(folder: Path, report_dir: str = "reports/latest") -> dict:
    return json.loads((folder / report_dir / "report.json").read_text(encoding="utf-8"))


def test_static_stage_alone(project: Path, capsys: pytest.CaptureFixture[str]):
    """Only the stage that is asked for runs, with no configuration, and its report lies in reports/latest."""
    assert main(["run", "--stage", "static"]) == 0
    report = read(project)
    assert [stage["stage"] for stage in report["stages"]] == ["static"]
    assert report["provenance"]["config"] == "none (discovered)"
    assert {"gate.md", "static.md", "report.json"} <= {path.name for path in (project / "reports" / "latest").iterdir()}
    printed = capsys.readouterr()
    assert "PASS" in printed.out
    assert "reports/latest" in printed.out
    assert printed.err == "verifygate: [1/1] static\n"
    schema = json.loads((SCHEMAS / "report.schema.json").read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator(schema).validate(report)


@pytest.mark.parametrize("command", [["check"], ["fix", "--diff"]])
def test_unknown_rule_is_told_with_its_line_by_every_command(
    project: Path, capsys: pytest.CaptureFixture[str], command: list[str]
):
    """Not only `run` reads the configuration."""
    (project / "verifygate.toml").write_text('[static]\nignore = ["AMP2", "clip"]\n', encoding="utf-8")
    assert main(command) == 2
    one_line(capsys, "verifygate.toml:2: ", "no rule `clip`")


def first_section(page: str) -> str:
    """Of gate.md, what stands under the verdict and above all else."""
    return page.partition("\n## Verdict")[2].partition("\n## ")[0]


def test_own_policy_is_on_the_first_screen(project: Path, capsys: pytest.CaptureFixture[str]):
    """A PASS that comes of blocking nothing, or of rules that were left out, says so before anything else."""
    (project / "train.py").write_text(FINDING, encoding="utf-8")
    text = '[project]\nexclude = ["old/*"]\n[static]\nignore = ["AMP5"]\n[verdict]\nblock = []\n'
    (project / "verifygate.toml").write_text(text, encoding="utf-8")
    assert main(["run", "--stage", "static"]) == 0
    page = (project / "reports" / "latest" / "gate.md").read_text(encoding="utf-8")
    head = first_section(page)
    assert "`verdict.block` is nothing (default: critical, high)" in head
    assert "`static.ignore` is AMP5 (default: no rule)" in head
    assert "`project.exclude` is old/\\* (default: no file)" in head
    assert "verdict.weights" not in head
    provenance = (project / "reports" / "latest" / "provenance.md").read_text(encoding="utf-8")
    assert "| `verdict.block` | **nothing** | critical, high |" in provenance
    assert "verdict.block is nothing (default: critical, high)" in capsys.readouterr().out


def test_an_open_door_is_own_policy(project: Path, capsys: pytest.CaptureFixture[str]):
    """Without a base, a tree that asks to run its tests unconfined, with somebody's token, says so first."""
    text = '[execution]\nisolation = "off"\npass_env = ["HF_TOKEN"]\n'
    (project / "verifygate.toml").write_text(text, encoding="utf-8")
    main(["run", "--stage", "static"])
    head = first_section((project / "reports" / "latest" / "gate.md").read_text(encoding="utf-8"))
    assert "`execution.isolation` is off (default: auto, off beside an accelerator)" in head
    assert "`execution.pass_env` is HF" in head
    assert "execution.isolation is off (default: auto, off beside an accelerator)" in capsys.readouterr().out


def test_gates_below_the_default_and_witnesses_that_are_off_are_own_policy(
    project: Path, capsys: pytest.CaptureFixture[str]
):
    """A quality gate that asks for next to nothing, or a run without its recorder, stands beside the PASS as well."""
    row = "{id: R-1, title: A, text: B, group: other, severity: low, verify: [{test: a}]}"
    spec = f"title: T\ngates: {{coverage: 0.1, critical: 0}}\nrequirements:\n  - {row}\n"
    (project / "spec.yaml").write_text(spec, encoding="utf-8")
    text = '[requirements]\nspec = "spec.yaml"\n[execution]\nrecorder = false\n'
    (project / "verifygate.toml").write_text(text, encoding="utf-8")
    assert main(["run", "--stage", "static"]) == 0
    page = (project / "reports" / "latest" / "gate.md").read_text(encoding="utf-8")
    head, printed = first_section(page), capsys.readouterr().out
    assert "`gates.coverage` is 10 % (default: 80 %)" in head
    for told in (
        "gates.coverage is 10 % (default: 80 %)",
        "gates.critical is 0 % (default: 100 %)",
        "execution.recorder is off (default: on)",
    ):
        assert told in printed
    assert "gates.regulatory" not in printed


def test_default_policy_is_printed_and_is_no_news(project: Path, capsys: pytest.CaptureFixture[str]):
    """Who reads the page sees what blocks; nobody is told of a deviation that there is not."""
    assert main(["run", "--stage", "static"]) == 0
    page = (project / "reports" / "latest" / "gate.md").read_text(encoding="utf-8")
    assert "Not the default policy" not in page
    provenance = (project / "reports" / "latest" / "provenance.md").read_text(encoding="utf-8")
    assert "| `verdict.block` | critical, high | critical, high |" in provenance
    assert "verdict.block" not in capsys.readouterr().out


def test_foreign_report_folder_is_refused_before_the_work(project: Path, capsys: pytest.CaptureFixture[str]):
    """The tests of the project, which may take an hour, do not run for a report that cannot be written."""
    (project / "test_ran.py").write_text(
        "from pathlib import Path\n\n\ndef test_ran():\n    Path('ran').touch()\n", encoding="utf-8"
    )
    (project / "own").mkdir()
    (project / "own" / "notes.txt").write_text("mine", encoding="utf-8")
    before = listing(project)
    assert main(["run", "--stage", "execution", "--report-dir", "own"]) == 2
    one_line(capsys, "own: holds `notes.txt`", "--report-dir")
    assert listing(project) == before


def test_a_pass_tells_the_findings_that_do_not_block(project: Path, capsys: pytest.CaptureFixture[str]):
    """And not as checks that were not shown: those lines are for what is seen nowhere else."""
    (project / "train.py").write_text(CLEAN.replace("scaler.update()", "print(scaler.get_scale())"), encoding="utf-8")
    (project / "verifygate.toml").write_text("[verdict]\nblock = []\n", encoding="utf-8")

    assert main(["run", "--stage", "static"]) == 0
    out = capsys.readouterr().out
    assert "  findings      1 high, 1 low; none of them blocks" in out
    assert "not shown" not in out


def test_a_report_folder_that_takes_no_report_is_refused_before_the_work(
    project: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    (project / "file").write_text("", encoding="utf-8")
    monkeypatch.setattr("verifygate.gate.run.run", lambda *_, **__: pytest.fail("an hour of work for nothing"))

    assert main(["run", "--stage", "static", "--report-dir", "file/reports"]) == 2
    assert "file/reports: no report can be written there: " in capsys.readouterr().err


def test_the_verdict_is_told_where_the_report_cannot_be_written(
    project: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    """The disk may fill up meanwhile; the exit code is that of an error, never that of the verdict."""

    def no_space(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("verifygate.report.write._write", no_space)
    assert main(["run", "--stage", "static"]) == 2
    told = capsys.readouterr().err
    assert "\nPASS (static only)  100.00/100" in told
    assert "reports/latest: the report cannot be written: No space left on device" in told


def test_nothing_to_audit_is_no_pass(project: Path, capsys: pytest.CaptureFixture[str]):
    """The wrong folder breaks no rule; it shows nothing either, so there is no PASS and no score."""
    assert main(["run", "--stage", "static"]) == 0
    assert "no AMP code" not in capsys.readouterr().out
    (project / "train.py").write_text("print('hello')\n", encoding="utf-8")

    assert main(["run", "--stage", "static"]) == 1
    said = "no AMP code was found in 1 file: are these the sources that train?"
    printed = capsys.readouterr().out
    assert printed.startswith("BLOCK  not scored")
    assert said in printed
    page = (project / "reports/latest/gate.md").read_text(encoding="utf-8")
    assert "## Verdict: **BLOCK**, not scored" in page
    assert f"**Nothing to audit:** {said}" in first_section(page)
    report = json.loads((project / "reports/latest/report.json").read_text(encoding="utf-8"))
    assert [reason["condition"] for reason in report["reasons"]] == ["nothing-ran"]
    assert report["score"] is None


@pytest.mark.parametrize("name", ["demo", 'a "quoted\\ name', "two\nlines", "größe", "{name}"])
def test_init_writes_what_can_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str):
    """Whatever the folder is called; a second one needs --force."""
    (tmp_path / name / "tests").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / name)

    assert main(["init"]) == 0
    settings = load(None, Path.cwd())
    assert (settings.name, settings.execution.pytest) == (name, ("tests",))
    assert main(["init"]) == 2
    assert main(["init", "--force"]) == 0


def test_init_where_nothing_can_be_written_ends_2(
    project: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(Path, "write_text", refuse)
    assert main(["init"]) == 2
    assert "verifygate.toml: cannot be written: Permission denied" in capsys.readouterr().err


def test_finding_blocks_a_run(project: Path):
    """A certain critical finding is BLOCK and exit code 1."""
    (project / "train.py").write_text(FINDING, encoding="utf-8")
    assert main(["run", "--stage", "static"]) == 1
    assert read(project)["verdict"] == "BLOCK"


def test_unanalysable_amp_file_blocks_a_run(project: Path):
    """What could not be read is never a PASS, if it mentions AMP."""
    (project / "broken.py").write_text("# autocast\ndef f(:\n", encoding="utf-8")
    assert main(["run", "--stage", "static"]) == 1
    report = read(project)
    assert report["verdict"] == "BLOCK"
    assert report["stages"][0]["details"]["not_analysed"][0]["path"] == "broken.py"


def test_stale_reports_are_replaced(project: Path):
    """A page of an earlier run that this one does not write is gone, and the verdict is this run's."""
    assert main(["run", "--stage", "static", "--format", "md,html"]) == 0
    (project / "train.py").write_text(FINDING, encoding="utf-8")
    assert main(["run", "--stage", "static", "--format", "json"]) == 1
    names = {path.name for path in (project / "reports" / "latest").iterdir()}
    assert names == {"report.json", ".gitignore"}


def test_baseline_tells_new_from_fixed(project: Path, capsys: pytest.CaptureFixture[str]):
    """Against an earlier report a finding is new, then open, then fixed, wherever its line moves."""
    main(["run", "--stage", "static", "--report-dir", "old"])
    (project / "train.py").write_text(FINDING, encoding="utf-8")
    main(["run", "--stage", "static", "--report-dir", "new", "--baseline", "old/report.json"])
    changes = read(project, "new")["changes"]
    assert [finding["rule"] for finding in changes["new"]] == ["AMP201"]
    capsys.readouterr()
    assert main(["compare", "old/report.json", "new/report.json"]) == 1
    assert "new: train.py:8: AMP201" in capsys.readouterr().out
    assert main(["compare", "new/report.json", "old/report.json"]) == 0
    printed, started = capsys.readouterr().out, read(project, "new")["run"]["started"]
    assert "fixed: train.py:8: AMP201" in printed
    counts = "0 new, 0 newly reached, 0 open, 1 fixed, 0 removed with the file, 0 cannot tell"
    assert printed.endswith(f"Against the report of {started}: {counts}.\n")


@pytest.mark.slow
def test_execution_without_configuration(project: Path):
    """In a folder with pytest tests, `run --stage execution` finds and runs them."""
    (project / "train.py").write_text("def train():\n    pass\n", encoding="utf-8")
    (project / "test_train.py").write_text(TEST, encoding="utf-8")
    assert main(["run", "--stage", "execution"]) == 0
    (stage,) = read(project)["stages"]
    assert [test["outcome"] for test in stage["details"]["tests"]] == ["passed"]


@pytest.mark.slow
def test_two_runs_differ_only_in_run(project: Path):
    """Same inputs, same bytes in report.json but for its `run` object; the Markdown follows from report.json alone."""
    (project / "train.py").write_text(FINDING.removeprefix("import torch\n"), encoding="utf-8")
    (project / "test_train.py").write_text(TEST, encoding="utf-8")
    (project / "verifygate.toml").write_text(SPEC, encoding="utf-8")
    (project / "spec.yaml").write_text(REQUIREMENTS, encoding="utf-8")
    seen = []
    for _ in range(2):
        stages = [word for stage in ("static", "requirements", "execution") for word in ("--stage", stage)]
        assert main(["run", *stages, "--report-dir", "report"]) == 1
        files = {name: data.decode() for name, data in listing(project / "report").items()}
        assert str(project) not in "".join(files.values())
        written = files.pop("report.json")
        assert render(Report.from_json(written), "md", "../") == files
        report = json.loads(written)
        assert report.pop("run")["measured"]
        seen.append(json.dumps(report))
    assert seen[0] == seen[1]


@pytest.mark.slow
def test_sigterm_leaves_the_earlier_report_and_no_child(project: Path):
    """Killed midway: the report of the last complete run is as it was, and the suite's process is gone."""
    assert main(["run", "--stage", "static"]) == 0
    before = listing(project / "reports")
    started, mark = project / "started", f"VERIFYGATE_TEST_{os.getpid()}"
    (project / "test_train.py").write_text(
        f"import os, pathlib, subprocess, sys\n\n\ndef test_forever():\n"
        f"    pathlib.Path({str(started)!r}).write_text('yes')\n"
        f"    subprocess.run([sys.executable, '-c', 'import time; time.sleep(600)', {mark!r}])\n",
        encoding="utf-8",
    )
    gate = subprocess.Popen(
        [sys.executable, "-m", "verifygate", "run", "--stage", "execution"],
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        deadline = time.monotonic() + 600
        while not _running(mark) and time.monotonic() < deadline:
            time.sleep(0.05)
        assert started.read_text() == "yes"
        gate.send_signal(signal.SIGTERM)
        out, err = gate.communicate(timeout=600)
    finally:
        gate.kill()
        gate.wait()
    assert gate.returncode == 143
    assert (out, "Traceback" in err) == ("", False)
    assert not _running(mark)
    assert listing(project / "reports") == before


def _running(mark: str) -> bool:
    """Whether a process has a word among its arguments: its id may be one of its own namespace."""
    return any(mark.encode() in _arguments(each) for each in Path("/proc").iterdir() if each.name.isdigit())


def _arguments(process: Path) -> bytes:
    try:
        return (process / "cmdline").read_bytes()
    except OSError:
        return b""


@pytest.mark.parametrize("kind", ["folder", "link to nothing", "link to itself"])
def test_configuration_that_cannot_be_read_is_not_left_out(kind: str, tmp_path: Path, monkeypatch, capsys):
    """Rules would be judged by defaults that nobody chose."""
    own = tmp_path / "verifygate.toml"
    (tmp_path / "train.py").write_text("x = 1\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    if kind == "folder":
        own.mkdir()
    else:
        own.symlink_to(own if kind == "link to itself" else tmp_path / "nothing.toml")

    assert main(["check", "--no-cache", "train.py"]) == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_name_of_a_file_cannot_write_a_line_of_its_own(project: Path, capsys: pytest.CaptureFixture[str]):
    """A CI runner obeys lines that begin with `::`, on standard error too, and a terminal obeys escapes."""
    name = "a\n::error::forged \x1b[2J.py"
    (project / name).write_bytes(b"from torch.amp import GradScaler\nx = '\0'\n")
    assert main(["check"]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("verifygate: not analysed: a ::error::forged .py: ")


def test_key_of_a_configuration_reaches_no_terminal_as_an_escape(project: Path, capsys: pytest.CaptureFixture[str]):
    """What a refused file holds is told as text."""
    (project / "verifygate.toml").write_text('[static]\n"\\u001b[2Jselekt" = []\n', encoding="utf-8")
    assert main(["check"]) == 2
    told = capsys.readouterr().err
    assert told.startswith("verifygate: error: verifygate.toml:2: unknown key `static.selekt`")
    assert "\x1b" not in told
