"""A report.json that somebody edited: what no longer follows from the rest is named in one line; the exit code is 2."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from verifygate.cli import main
from verifygate.model.report import seal_of

FAULTY = """\
import torch


def train(model, optimizer, scaler, batches):
    for batch in batches:
        optimizer.zero_grad()
        scaler.scale(model(batch)).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
"""
Document = dict[str, Any]


@pytest.fixture(scope="module")
def document(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The report on a program with one fault, as the real command wrote it."""
    folder = tmp_path_factory.mktemp("faulty")
    (folder / "train.py").write_text(FAULTY, encoding="utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        assert main(["run", "--stage", "static"]) == 1
    return (folder / "reports/latest/report.json").read_text(encoding="utf-8")


def check(document: Document, identifier: str) -> Document:
    return next(each for each in document["stages"][0]["checks"] if each["id"] == identifier)


def forge_pass(document: Document) -> None:
    document["verdict"], document["reasons"] = "PASS", []
    document["stages"][0]["verdict"] = "PASS"


def forge_clean(document: Document) -> None:
    forge_pass(document)
    document["stages"][0]["findings"] = []


def forge_status(document: Document) -> None:
    check(document, "static.AMP201")["status"] = "PASS"


def forge_part(document: Document) -> None:
    part = next(each for each in document["parts"] if each["check"] == "static.AMP201")
    part["earned"] = part["possible"]
    document["score"] = 100.0


def forge_measurement(document: Document, **more: Any) -> None:
    shape = {"id": "speedup.fp16", "title": "t", "metric": "speedup", "unit": "x", "device": "H200", "method": ""}
    at = len(document["stages"][0]["measurements"])
    document["stages"][0]["measurements"].append(
        {**shape, "kind": "measured", "status": "PASS", "target": ">= 1.5", "arms": [], "reason": "", **more}
    )
    document["run"]["measured"][f"/stages/0/measurements/{at}/value"] = 1.72


def forge_summary(document: Document) -> None:
    """A value that its own samples do not give."""
    arms = [{"name": name, "unit": "s", "n": 2} for name in ("fp32", "fp16")]
    forge_measurement(document, arms=arms)
    for number, samples in enumerate(([3.0, 3.0], [2.5, 2.5])):
        document["run"]["measured"][f"/stages/0/measurements/0/arms/{number}/samples"] = samples


def forge_waiver(document: Document) -> None:
    waiver = {"checks": ["*"], "reason": "r", "owner": "o", "expires": "2099-01-01"}
    document["waivers"].append({"waiver": waiver, "state": "in force"})


def forge_fingerprint(document: Document) -> None:
    document["stages"][0]["findings"][0]["fingerprint"] = "0" * 24


def set_score(document: Document) -> None:
    document["score"] = 100.0


def set_stage_score(document: Document) -> None:
    document["stages"][0]["score"] = 99.0


def shrink_parts(document: Document) -> None:
    document["parts"] = [part for part in document["parts"] if part["earned"] == part["possible"]]


FORGERIES: list[tuple[Callable[[Document], None], str]] = [
    (set_score, "the parts of the report add up to"),
    (set_stage_score, "the parts of the static stage add up to"),
    (shrink_parts, "the parts of the report are out of"),
    (forge_part, "`static.AMP201` is FAIL, and earned"),
    (forge_status, "`static.AMP201` is PASS, and earned 0.00"),
    (forge_pass, "AMP201 at train.py:8 blocks by the policy, and is no reason here"),
    (forge_clean, "`static.AMP201` is required and FAIL, and no reason to block names it"),
    (forge_waiver, "a waiver names its checks one by one, and this one says `*`"),
    (forge_measurement, "speedup.fp16 is PASS, and it holds no samples"),
    (forge_summary, "speedup.fp16 is PASS, and the reported value does not follow from its samples"),
]


@pytest.mark.parametrize(("forge", "said"), FORGERIES, ids=[forge.__name__ for forge, _ in FORGERIES])
@pytest.mark.parametrize("seal", [False, True], ids=["edited", "sealed-anew"])
def test_what_no_longer_follows_is_named(
    forge: Callable[[Document], None], said: str, document: str, tmp_path: Path, seal: bool, capsys: Any
):
    """Even where the forger seals the report anew: one line, and exit code 2."""
    forged = json.loads(document)
    forge(forged)
    if seal:
        forged["run"]["seal"] = seal_of(forged)
    (tmp_path / "old.json").write_text(document, encoding="utf-8")
    (tmp_path / "new.json").write_text(json.dumps(forged), encoding="utf-8")

    assert main(["compare", str(tmp_path / "old.json"), str(tmp_path / "new.json")]) == 2
    error = capsys.readouterr().err
    assert said in error
    assert "new.json" in error
    assert error.count("\n") == 1


@pytest.mark.parametrize(
    ("edit", "said"),
    [
        (forge_fingerprint, "it was edited after it was written"),
        (lambda document: document["run"].update(seal=""), "it has no seal"),
        (lambda document: document["run"].update(command="verifygate run"), "it was edited after it was written"),
    ],
)
def test_any_edit_breaks_the_seal(edit: Callable[[Document], None], said: str, document: str, tmp_path: Path, capsys):
    """A fingerprint changed in a baseline would turn an old finding into a new one; it does not get that far."""
    edited = json.loads(document)
    edit(edited)
    (tmp_path / "old.json").write_text(json.dumps(edited), encoding="utf-8")
    (tmp_path / "new.json").write_text(document, encoding="utf-8")

    assert main(["compare", str(tmp_path / "old.json"), str(tmp_path / "new.json")]) == 2
    assert said in capsys.readouterr().err


def test_layout_is_no_edit(document: str, tmp_path: Path):
    """Other indents and another order of keys say the same."""
    loaded = json.loads(document)
    (tmp_path / "old.json").write_text(json.dumps(loaded, sort_keys=True), encoding="utf-8")
    (tmp_path / "new.json").write_text(document, encoding="utf-8")
    assert main(["compare", str(tmp_path / "old.json"), str(tmp_path / "new.json")]) == 0


def test_a_baseline_is_looked_at_before_anything_runs(
    document: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    forged = json.loads(document)
    set_score(forged)
    (tmp_path / "train.py").write_text(FAULTY, encoding="utf-8")
    (tmp_path / "old.json").write_text(json.dumps(forged), encoding="utf-8")
    monkeypatch.chdir(tmp_path)

    assert main(["run", "--stage", "static", "--baseline", "old.json"]) == 2
    assert "old.json: the report contradicts itself: the parts of the report add up to" in capsys.readouterr().err
    assert not (tmp_path / "reports").exists()


def test_an_honest_baseline_is_taken(document: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "train.py").write_text(FAULTY, encoding="utf-8")
    (tmp_path / "old.json").write_text(document, encoding="utf-8")
    monkeypatch.chdir(tmp_path)

    assert main(["run", "--stage", "static", "--baseline", "old.json"]) == 1
    changes = json.loads((tmp_path / "reports/latest/report.json").read_text(encoding="utf-8"))["changes"]
    assert [finding["rule"] for finding in changes["open"]] == ["AMP201"]


def test_an_edited_report_is_no_evidence_to_accept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    """`trace accept` writes what later changes are held against; it takes that from whole reports alone."""
    spec = {"id": "R-1", "title": "T", "text": "X.", "group": "acceptance", "severity": "high"}
    asked = {"title": "S", "requirements": [{**spec, "verify": [{"rule": "AMP201"}]}]}
    (tmp_path / "spec.yaml").write_text(json.dumps(asked), encoding="utf-8")
    (tmp_path / "verifygate.toml").write_text('[requirements]\nspec = "spec.yaml"\n', encoding="utf-8")
    (tmp_path / "train.py").write_text(FAULTY, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    assert main(["run", "--stage", "static", "--stage", "requirements"]) == 1
    path = tmp_path / "reports/latest/report.json"
    forged = json.loads(path.read_text(encoding="utf-8"))
    forged["stages"][1]["details"]["requirements"][0]["status"] = "PASS"
    path.write_text(json.dumps(forged), encoding="utf-8")

    assert main(["evidence", "trace", "accept"]) == 2
    assert "R-1 is PASS in the matrix, and its check is FAIL" in capsys.readouterr().err
    assert not (tmp_path / "spec.lock.json").exists()
