"""Rules about newer torch are silent where the project supports an older one, and the reports say so."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from verifygate.base.errors import UsageError
from verifygate.commands import cli
from verifygate.config.settings import StaticSettings, load
from verifygate.sources.file import SourceFile
from verifygate.sources.tree import Sources
from verifygate.static.engine import analyse

OLD = "import torch\n\nscaler = torch.cuda.amp.GradScaler()  # verifygate: ignore[AMP501] torch 2.1 has no other\n"
DEPRECATED = OLD.partition("  #")[0] + "\n"


def found(text: str, torch_version: str) -> list[str]:
    settings = StaticSettings(torch_version=torch_version)
    return [each.rule for each in analyse(Sources([SourceFile("train.py", text.encode())]), settings).findings]


@pytest.mark.parametrize(
    ("torch_version", "rules"),
    [("", ["AMP501"]), ("2.1", []), ("2.3.1", []), ("2.4", ["AMP501"]), ("2.13", ["AMP501"])],
)
def test_a_deprecation_counts_from_the_version_that_has_it(torch_version: str, rules: list[str]):
    """torch.amp.GradScaler came in 2.3, and the deprecation in 2.4: before that there is nothing else to write."""
    assert found(DEPRECATED, torch_version) == rules


def test_a_suppression_of_a_silent_rule_is_not_called_unused():
    """It is needed again as soon as the lowest version is raised."""
    assert found(OLD, "2.1") == []


def command(folder: Path, monkeypatch: pytest.MonkeyPatch, *arguments: str) -> Result:
    monkeypatch.chdir(folder)
    return CliRunner().invoke(cli, list(arguments), standalone_mode=False)


@pytest.mark.parametrize(
    ("setting", "requirement", "code"),
    [
        ("", 'dependencies = ["torch>=2.1,<2.4"]', 0),
        ("", 'dependencies = ["torch>=2.1"]', 1),
        ("", 'dependencies = ["torch>=2.4"]', 1),
        ("", 'dependencies = ["numpy"]', 1),
        ('torch_version = "2.2"', 'dependencies = ["torch>=2.4"]', 0),
        ('torch_version = "2.5"', 'dependencies = ["torch>=2.1"]', 1),
    ],
)
def test_the_setting_comes_before_the_requirement(
    setting: str, requirement: str, code: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """`check` is silent for an old torch, set or required, with a configuration and without."""
    (tmp_path / "train.py").write_text(DEPRECATED, encoding="utf-8")
    (tmp_path / "pyproject.toml").write_text(f'[project]\nname = "p"\n{requirement}\n', encoding="utf-8")
    if setting:
        (tmp_path / "verifygate.toml").write_text(f"[static]\n{setting}\n", encoding="utf-8")

    assert command(tmp_path, monkeypatch, "check").return_value == code
    assert command(tmp_path, monkeypatch, "fix", "--diff").return_value == code


def test_run_tells_which_rules_were_not_applied(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """A rule that is silent is NOT APPLICABLE with the versions, and not a check that passed."""
    (tmp_path / "train.py").write_text(DEPRECATED, encoding="utf-8")
    (tmp_path / "verifygate.toml").write_text('[static]\ntorch_version = "2.1"\n', encoding="utf-8")

    command(tmp_path, monkeypatch, "run", "--stage", "static")

    report = json.loads((tmp_path / "reports" / "latest" / "report.json").read_text(encoding="utf-8"))
    (static,) = (each for each in report["stages"] if each["stage"] == "static")
    (check,) = (each for each in static["checks"] if each["id"] == "static.AMP501")
    assert check["status"] == "NOT APPLICABLE"
    assert check["actual"] == "not run: it is about torch 2.4 and newer, and the project supports 2.1"
    assert "AMP501" not in static["details"]["rules"]


def test_nothing_left_to_run_is_no_clean_bill(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Asking for one rule only, and that one is silent, is told."""
    (tmp_path / "train.py").write_text(DEPRECATED, encoding="utf-8")
    (tmp_path / "verifygate.toml").write_text('[static]\ntorch_version = "2.1"\n', encoding="utf-8")

    answer = command(tmp_path, monkeypatch, "check", "--select", "AMP501")

    assert isinstance(answer.exception, UsageError)
    assert "AMP501 needs a newer torch than 2.1" in str(answer.exception)


def test_a_version_that_is_none_is_refused_with_its_line(tmp_path: Path):
    """The message names file, line and what to write."""
    (tmp_path / "verifygate.toml").write_text('[static]\ntorch_version = "two"\n', encoding="utf-8")

    with pytest.raises(UsageError) as told:
        load(None, tmp_path)

    assert str(told.value).startswith("verifygate.toml:2: `static.torch_version`: no version: write for example `2.1`")
