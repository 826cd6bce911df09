"""A configuration is judged once for `check`, and again where anything has changed that has a part in it."""

from __future__ import annotations

from pathlib import Path

import pytest

from verifygate.check import settings
from verifygate.cli import main

CONFIG = """[project]
exclude = ["legacy/*"]

[requirements]
spec = "spec.yaml"

[static]
ignore = ["PERF"]
per_file_ignores = { "old.py" = ["AMP201"] }
"""
OPENS = "import torch\n\nscaler = torch.cuda.amp.GradScaler()\n"


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "verifygate.toml").write_text(CONFIG, encoding="utf-8")
    (folder / "spec.yaml").write_text("", encoding="utf-8")
    (folder / "train.py").write_text(OPENS, encoding="utf-8")
    monkeypatch.chdir(folder)
    return folder


@pytest.fixture
def judgements(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """Grows by the file with each judgement that is really made."""
    made: list[Path] = []
    real = settings._judge

    def counted(config: Path, start: Path) -> str:
        made.append(config)
        return real(config, start)

    monkeypatch.setattr(settings, "_judge", counted)
    return made


def test_what_is_kept_says_what_was_judged(project: Path, judgements: list[Path]) -> None:
    """Each setting comes back as it was, of the same type."""
    file = project / "verifygate.toml"
    anew = settings.judged(file, project, cached=False)
    assert settings.judged(file, project, cached=True) == settings.judged(file, project, cached=True) == anew
    assert len(judgements) == 2
    assert (anew.exclude, anew.written.ignore) == (("legacy/*",), ("PERF",))
    assert anew.written.per_file_ignores == {"old.py": ("AMP201",)}
    assert (anew.written.select, anew.written.torch_version) == ((), "")


def test_a_change_of_the_sources_asks_for_no_new_judgement(project: Path, judgements: list[Path]) -> None:
    assert main(["check"]) == 1
    (project / "train.py").write_text("x = 1\n", encoding="utf-8")
    assert main(["check"]) == 0
    assert len(judgements) == 1
    assert main(["check", "--no-cache"]) == 0
    assert len(judgements) == 2


@pytest.mark.parametrize(("name", "times"), [("verifygate.toml", 2), ("pyproject.toml", 1)])
def test_the_answer_follows_rules_and_versions(project: Path, judgements: list[Path], name: str, times: int) -> None:
    """A rule that is left out now, or the torch that is required: AMP501 is not of torch before 2.4. Versions are no
    setting, so the configuration is not judged again."""
    assert main(["check"]) == 1
    without, older = CONFIG.replace('"PERF"', '"AMP501"'), "[project]\ndependencies = ['torch>=2.1,<2.4']"
    (project / name).write_text(without if name == "verifygate.toml" else older, encoding="utf-8")
    assert main(["check"]) == 0
    assert len(judgements) == times


def test_what_is_wrong_is_said_each_time(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Only what could be meant is kept."""
    (project / "verifygate.toml").write_text(CONFIG.replace('"PERF"', '"PERV"'), encoding="utf-8")
    for _ in range(2):
        assert main(["check"]) == 2
        assert "verifygate.toml:8: no rule `PERV`" in capsys.readouterr().err


def test_what_a_configuration_names_must_still_lie_in_the_project(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A specification that was replaced by a link to elsewhere is refused, though the configuration is as it was."""
    assert main(["check"]) == 1
    elsewhere = project.parent / "spec.yaml"
    elsewhere.write_text("", encoding="utf-8")
    (project / "spec.yaml").unlink()
    (project / "spec.yaml").symlink_to(elsewhere)
    assert main(["check"]) == 2
    assert "`spec.yaml` is outside the project's root" in capsys.readouterr().err
