"""A project that is a configuration and a launch line: `run`, `init`, `doctor` and what a change moves."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from verifygate.cli import main
from verifygate.config.settings import load
from verifygate.doctor.project import sources

AXOLOTL = """\
base_model: org/model
datasets:
  - path: org/data
micro_batch_size: 2
attn_implementation: flash_attention_2
"""


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.yml").write_text(AXOLOTL + "bf16: true\n", encoding="utf-8")
    (tmp_path / "README.md").write_text("# Tuning\n", encoding="utf-8")
    (tmp_path / "run.sh").write_text("axolotl train a.yml\n", encoding="utf-8")
    return tmp_path


def report(folder: Path) -> dict:  # type: ignore[type-arg]
    return json.loads((folder / "reports" / "latest" / "report.json").read_text(encoding="utf-8"))


def test_the_verdict_is_about_the_configuration(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("PASS (static and security only)")
    assert "nothing       " not in out
    stages = {each["stage"]: each for each in report(project)["stages"]}
    assert {name: each["outcome"] for name, each in stages.items()} == {
        "execution": "not applicable",
        "static": "completed",
        "performance": "not applicable",
        "security": "completed",
        "requirements": "not applicable",
    }
    details = stages["static"]["details"]
    assert details["configurations"] == ["a.yml"]
    cells = {each["aspect"]: each["declared"][0]["value"] for each in details["contract"]["rows"] if each["declared"]}
    assert cells["weights"] == cells["compute"] == "bfloat16"
    passed = {each["id"] for each in stages["static"]["checks"] if each["status"] == "PASS"}
    assert passed >= {"static.analysed", "static.AMP901"}
    gate = (project / "reports" / "latest" / "gate.md").read_text(encoding="utf-8")
    assert "| compute | bfloat16, " in gate
    assert "Nothing to audit" not in gate


def test_a_fault_in_a_configuration_blocks(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    keys = "model_name_or_path: m\nstage: sft\ntemplate: t\ndo_train: true\nbf16: true\nfp16: true\n"
    (project / "b.yaml").write_text(keys, encoding="utf-8")
    (project / "more.sh").write_text("llamafactory-cli train b.yaml\n", encoding="utf-8")
    assert main(["run", "--stage", "static"]) == 1
    assert "AMP901" in capsys.readouterr().out
    (static,) = report(project)["stages"]
    assert [each["certainty"] for each in static["findings"]] == ["certain"]
    assert static["details"]["configurations"] == ["a.yml", "b.yaml"]
    driver = next(each for each in static["details"]["contract"]["rows"] if each["aspect"] == "driver")
    assert [each["path"] for each in driver["declared"]] == ["more.sh", "run.sh"]


def test_what_the_launch_line_overrides_is_no_fault(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    keys = "model_name_or_path: m\nstage: sft\ntemplate: t\ndo_train: true\nbf16: true\nfp16: true\n"
    (project / "b.yaml").write_text(keys, encoding="utf-8")
    (project / "more.sh").write_text("llamafactory-cli train b.yaml bf16=false\n", encoding="utf-8")
    assert main(["check", "--no-cache"]) == 0
    (project / "more.sh").write_text("llamafactory-cli train b.yaml $MORE\n", encoding="utf-8")
    assert main(["check", "--no-cache"]) == 1
    assert "two-precisions-configured [high, likely]" in capsys.readouterr().out


def test_a_framework_that_no_rule_judges_is_no_pass(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    v1 = "model: org/model\ntrain_dataset: data.yaml\nmodel_class: llm\ncutoff_len: 2048\n"
    (project / "a.yml").write_text(v1, encoding="utf-8")
    (project / "run.sh").write_text("llamafactory-cli sft a.yml\n", encoding="utf-8")
    assert main(["run", "--stage", "static"]) == 1  # nothing ran
    assert "no rule judges the keys of a.yml; the precision contract says what they do" in capsys.readouterr().out


def test_init_and_doctor_name_what_trains(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["init"]) == 0
    assert "Found AMP: in configurations that train: a.yml (axolotl)\n" in capsys.readouterr().out
    assert "verifygate docs precision-contract" in (project / "verifygate.toml").read_text(encoding="utf-8")
    answer, _ = sources(load(project / "verifygate.toml", project))
    assert answer.text == "0 Python files; axolotl trains by a.yml"
    assert main(["run", "--stage", "static"]) == 0


def test_a_change_shows_which_cells_it_moves(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def said() -> str:
        return capsys.readouterr().out

    for words in (["init", "-q"], ["add", "."], ["commit", "-qm", "first"]):
        subprocess.run(["git", "-c", "user.name=a", "-c", "user.email=a@b", *words], cwd=project, check=True)
    assert main(["check", "--since", "HEAD"]) == 0
    assert "Moved" not in said()
    (project / "a.yml").write_text(AXOLOTL + "fp16: true\nbf16: false\n", encoding="utf-8")
    dtypes = "bfloat16 -> float16, a.yml:7"
    moved = f"a.yml: compute: {dtypes}"
    assert main(["check", "--since", "HEAD", "--no-cache"]) == 1  # AMP401: axolotl loads it in float16
    assert f"Moved in the precision contract:\n    a.yml: accumulation: {dtypes}\n    {moved}\n" in said()
    assert main(["run", "--since", "HEAD", "--stage", "static", "--format", "comment", "--format", "summary"]) == 1
    assert f"  precision     {moved}\n" in said()
    assert moved in report(project)["changes"]["precision"]
    assert not any(each.startswith("compute") for each in report(project)["changes"]["precision"])
    for name in ("comment.md", "summary.md"):
        assert moved.replace(">", "&gt;") in (project / "reports" / "latest" / name).read_text(encoding="utf-8")


def test_a_launch_in_ci_is_judged_and_what_is_not_read_now_is_not_read_then(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in (".github/workflows/a.yml", ".hidden/a.yml", "build/a.yml"):
        (project / name).parent.mkdir(parents=True)
        (project / name).write_text(AXOLOTL + "bf16: true\n", encoding="utf-8")
    launch = "jobs:\n  tune:\n    steps:\n      - run: axolotl train a.yml --bf16 false --fp16 true\n"
    (project / ".github" / "workflows" / "a.yml").write_text(launch, encoding="utf-8")
    for words in (["init", "-q"], ["add", "-f", "."], ["commit", "-qm", "first"]):
        subprocess.run(["git", "-c", "user.name=a", "-c", "user.email=a@b", *words], cwd=project, check=True)
    (project / "a.yml").write_text(AXOLOTL + "bf16: true  # as before\n", encoding="utf-8")
    assert main(["check", "--no-cache"]) == 1
    assert ".github/workflows/a.yml:4:1: AMP401" in capsys.readouterr().out
    assert main(["check", "--no-cache", "--since", "HEAD"]) == 0
    out = capsys.readouterr().out
    assert "1 stood before" in out
    assert "Moved" not in out
    assert main(["contract", "--since", "HEAD"]) == 0
    assert capsys.readouterr().out.endswith("Moved since:\n    nothing\n")
    assert main(["contract", ".hidden/a.yml"]) == 0  # it was named


def test_what_is_launched_and_holds_several_documents_is_not_analysed(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (project / "run.sh").write_text("axolotl train b.yml\n", encoding="utf-8")
    (project / "b.yml").write_text("base_model: m\n---\nbf16: true\n", encoding="utf-8")
    assert main(["check", "--no-cache"]) == 2
    assert "not analysed: b.yml: line 2: it holds several documents" in capsys.readouterr().err


def test_a_configuration_that_cannot_be_read_is_no_pass(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (project / "b.yml").write_text(AXOLOTL + "bf16: [true\n", encoding="utf-8")
    assert main(["check", "--no-cache"]) == 2
    assert "not analysed: b.yml: line 7: did not find expected" in capsys.readouterr().err
    assert main(["run", "--stage", "static"]) == 1
    assert "b.yml:1: FAIL: `static.analysed`" in capsys.readouterr().out
    (project / "train.py").write_text("import torch\n", encoding="utf-8")  # then it may be a template
    assert main(["check", "--no-cache"]) == 0
    assert "1 file not analysed" in capsys.readouterr().out


def test_neither_python_nor_a_configuration_is_no_project(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (project / "a.yml").unlink()
    (project / "run.sh").unlink()
    assert main(["run"]) == 2
    assert "no Python file to audit" in capsys.readouterr().err
