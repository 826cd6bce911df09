"""The JSON schema of the configuration, as an editor uses it."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path

import jsonschema
import pytest
from click.testing import CliRunner

from verifygate.cli import main
from verifygate.commands import cli
from verifygate.config.settings import load

ROOT = Path(__file__).parent.parent.parent


def schema() -> jsonschema.Draft202012Validator:
    return jsonschema.Draft202012Validator(json.loads(CliRunner().invoke(cli, ["schema"]).output))


def test_init_names_a_schema_that_is_there_and_that_accepts_what_init_wrote(tmp_path: Path, monkeypatch):
    """Taplo reads the first line, and looks from the file's own folder."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "tests").mkdir()
    assert main(["init"]) == 0
    text = (tmp_path / "verifygate.toml").read_text(encoding="utf-8")
    named = re.match(r"#:schema (\S+)\n", text)
    assert named is not None
    there = (tmp_path / named[1]).read_text(encoding="utf-8")
    assert there == CliRunner().invoke(cli, ["schema"]).output
    schema().validate(tomllib.loads(text))
    load(None, tmp_path)


def test_the_schema_accepts_a_configuration_that_is_in_use():
    """A date is a text in JSON, and so it is for Taplo."""
    written = tomllib.loads((ROOT / "verifygate.toml").read_text(encoding="utf-8"))
    schema().validate(json.loads(json.dumps(written, default=str)))


@pytest.mark.parametrize("text", ["[static]\nselekt = []\n", "[execution]\nseconds = '5'\n", "[nothing]\n"])
def test_what_the_gate_refuses_the_schema_marks(tmp_path: Path, monkeypatch, text: str):
    assert not schema().is_valid(tomllib.loads(text))
    (tmp_path / "verifygate.toml").write_text(text, encoding="utf-8")
    (tmp_path / "a.py").write_text("", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    assert main(["check"]) == 2


def test_a_schema_that_there_is_not_is_refused_with_the_names(capsys: pytest.CaptureFixture[str]):
    assert main(["schema", "nothing"]) == 2
    assert "config" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["report", "check", "matrix", "probe", "record", "lock", "claims"])
def test_every_schema_is_printed(name: str):
    made = json.loads(CliRunner().invoke(cli, ["schema", name]).output)
    jsonschema.Draft202012Validator.check_schema(made)
    assert made["properties"]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_documented_completion_is_that_of_click(monkeypatch, shell: str):
    """Each line of the page gives a script, and the script's own question is answered."""
    page = (ROOT / "verifygate" / "docs" / "editors.md").read_text(encoding="utf-8")
    assert f"_VERIFYGATE_COMPLETE={shell}_source verifygate" in page
    script = CliRunner().invoke(cli, env={"_VERIFYGATE_COMPLETE": f"{shell}_source"}, prog_name="verifygate")
    assert f"_VERIFYGATE_COMPLETE={shell}_complete" in script.output
    asked = {"_VERIFYGATE_COMPLETE": f"{shell}_complete", "COMP_WORDS": "verifygate expl", "COMP_CWORD": "1"}
    asked |= {"COMP_CWORD": "expl"} if shell == "fish" else {}
    answer = CliRunner().invoke(cli, env=asked, prog_name="verifygate")
    assert "explain" in answer.output
