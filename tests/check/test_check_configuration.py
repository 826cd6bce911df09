"""`check FILE` where the file is no Python: configuration is judged as in its folder, all else is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from verifygate.cli import main

AXOLOTL = """\
base_model: meta-llama/Llama-3.2-1B
adapter: lora
datasets:
  - path: data.jsonl
    type: alpaca
micro_batch_size: 2
bf16: true
deepspeed: zero.json
"""
ZERO = '{"bf16": {"enabled": true}, "fp16": {"enabled": true}}\n'
SETTINGS = "trainer:\n  precision: 16-mixed\n"


@pytest.fixture(params=["in a repository", "in no project"])
def folder(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    if request.param == "in a repository":
        (tmp_path / ".git").mkdir()
    (tmp_path / "qlora.yml").write_text(AXOLOTL, encoding="utf-8")
    (tmp_path / "zero.json").write_text(ZERO, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def checked(capsys: pytest.CaptureFixture[str], *paths: str) -> tuple[int, str, str]:
    code = main(["check", "--no-cache", *paths])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


@pytest.mark.parametrize("named", ["qlora.yml", "zero.json"])
def test_a_configuration_gets_what_its_folder_gets(folder: Path, named: str, capsys: pytest.CaptureFixture[str]):
    whole = checked(capsys)
    assert whole[0] == 1
    assert "AMP901" in whole[1]
    assert "driver          axolotl" in whole[1]
    alone = checked(capsys, named)
    assert alone[0] == 1
    assert alone[1].rpartition("\n1 finding")[0] == whole[1].rpartition("\n1 finding")[0]


@pytest.mark.parametrize(
    ("name", "text", "says"),
    [
        ("notes.md", "Some notes.\n", "notes.md: is no Python file"),
        ("requirements.txt", "torch==2.0\n", "requirements.txt: is no Python file"),
        ("other.yaml", SETTINGS, "other.yaml: no program here takes a precision from it"),
        ("package.json", "{}\n", "package.json: no program here takes a precision from it"),
        ("a.toml", "[a]\nb = 1\n", "a.toml: no program here takes a precision from it"),
        ("make.sh", "cd build\n", "make.sh: no program here takes a precision from it"),
        ("broken.yml", "a: 1\nb: [1\n", "broken.yml:3: cannot be read: "),
    ],
)
def test_a_file_that_nothing_is_said_of_is_refused(
    folder: Path, name: str, text: str, says: str, capsys: pytest.CaptureFixture[str]
):
    (folder / name).write_text(text, encoding="utf-8")
    code, out, err = checked(capsys, name)
    assert (code, out) == (2, "")
    assert says in err
    assert err.count("\n") == 1


def test_a_text_of_another_name_that_is_a_program_is_one(folder: Path, capsys: pytest.CaptureFixture[str]):
    scaler = "import torch\n\nscaler = torch.cuda.amp.GradScaler()\n"
    (folder / "train").write_text(f"#!/usr/bin/env python3\n{scaler}", encoding="utf-8")
    (folder / "loop.txt").write_text(scaler, encoding="utf-8")
    for named in ("train", "loop.txt"):
        code, out, _ = checked(capsys, named)
        assert code == 1
        assert f"{named}:" in out


def test_the_line_that_launches_it_counts_as_named(folder: Path, capsys: pytest.CaptureFixture[str]):
    (folder / "zero.json").unlink()
    (folder / "run.sh").write_text("axolotl train qlora.yml\n", encoding="utf-8")
    code, out, _ = checked(capsys, "run.sh")
    assert code == 0
    assert "(run.sh:1)" in out
    (folder / "empty.py").touch()
    assert main(["run", "--stage", "static"]) == 0
    assert "PASS (static only)" in capsys.readouterr().out


def test_a_tool_that_nobody_knows_is_not_read(folder: Path, capsys: pytest.CaptureFixture[str]):
    (folder / "qlora.yml").write_text("precision: fp16\n", encoding="utf-8")
    (folder / "run.sh").write_text("mytool train qlora.yml\n", encoding="utf-8")
    code, out, err = checked(capsys, "qlora.yml")
    assert (code, out) == (2, "No findings in 0 files; 1 file not analysed.\n")
    assert "`mytool` trains by it (run.sh:1)" in err


def test_what_is_edited_has_to_be_python(folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch):
    import io
    import sys

    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(AXOLOTL.encode())))
    code, _, err = checked(capsys, "-", "--stdin-filename", "qlora.yml")
    assert code == 2
    assert "qlora.yml: is no Python file" in err
