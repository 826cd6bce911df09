"""Values that no conversion takes: refused in one line with its place, in every file that people write."""

from __future__ import annotations

from pathlib import Path

import pytest

from verifygate import baseline_file, report_comparison
from verifygate.base.errors import UsageError
from verifygate.config.documents import read_toml, read_yaml
from verifygate.config.version_pins import FolderFiles, allowed_versions

LONG = "9" * 5000
DEEP = "[" * 20_000


@pytest.mark.parametrize("text", [f"a = 1\nb = {LONG}\n", f"a = 1\nb = {DEEP}"])
def test_toml_that_python_cannot_hold(tmp_path: Path, text: str):
    (tmp_path / "a.toml").write_text(text, encoding="ascii")
    with pytest.raises(UsageError) as refused:
        read_toml(tmp_path / "a.toml", "a.toml")
    assert refused.value.remedy
    assert str(refused.value).startswith("a.toml")


@pytest.mark.parametrize(
    ("value", "kind"),
    [("2024-13-99", "timestamp"), ("!!timestamp x", "timestamp"), ("!!int x", "int"), ("!!float x", "float")],
)
@pytest.mark.parametrize("text", ["a: 1\nb: {}\n", "a: 1\n{}: 2\n", "a:\n- {}\n"])
def test_yaml_that_is_no_value_of_its_type(tmp_path: Path, text: str, value: str, kind: str):
    (tmp_path / "a.yaml").write_text(text.format(value), encoding="ascii")
    with pytest.raises(UsageError) as refused:
        read_yaml(tmp_path / "a.yaml", "a.yaml")
    word = value.rpartition(" ")[2]
    assert refused.value.problem == f'"{word}" is no value of the type {kind}'
    assert refused.value.where == "a.yaml:2"


@pytest.mark.parametrize("text", [f"version = {LONG}\n", f"version = {DEEP}"])
def test_baseline_file_that_python_cannot_hold(text: str):
    with pytest.raises(UsageError):
        baseline_file.parse(text.encode(), "old.toml")


def test_report_that_is_nested_too_deeply(tmp_path: Path):
    (tmp_path / "report.json").write_text(DEEP * 10, encoding="ascii")
    with pytest.raises(UsageError):
        report_comparison.read(tmp_path / "report.json", "report.json")


def test_version_of_thousands_of_digits_is_no_version(tmp_path: Path):
    (tmp_path / "requirements.txt").write_text(f"torch>={LONG}\nlightning>=2.2\n", encoding="ascii")
    assert allowed_versions(FolderFiles(tmp_path)) == {"lightning": ">=2.2"}
    (tmp_path / "pyproject.toml").write_text(f"torch = {LONG}\n", encoding="ascii")
    assert allowed_versions(FolderFiles(tmp_path)) == {"lightning": ">=2.2"}
