"""The folder that a CUDA machine without a network gets, built from a small repository and without a registry."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import gpu_bundle
import pytest


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A commit with the two files that say what is needed, and a measuring script that tells how it was started."""
    root = tmp_path / "checkout"
    (root / "tests/performance").mkdir(parents=True)
    for name in ("pyproject.toml", "constraints.txt"):
        (root / name).write_bytes((gpu_bundle.ROOT / name).read_bytes())
    told = (
        "import pathlib, sys\nprint('measured', sys.prefix != sys.base_prefix, pathlib.Path.cwd().name, sys.argv[1:])\n"
    )
    (root / "tests/performance/gpu_table.py").write_text(told, encoding="utf-8")
    git = ["git", "-C", str(root), "-c", "user.name=t", "-c", "user.email=t@example.org"]
    for command in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "a commit"]):
        subprocess.run([*git, *command], check=True)
    monkeypatch.setattr(gpu_bundle, "ROOT", root)
    return root


def test_the_requirements_are_the_pins_of_what_measuring_needs() -> None:
    """No framework, no hypothesis, and not torch, which is the machine's own."""
    names = {each.partition("==")[0] for each in gpu_bundle.requirements()}
    assert {"pytest", "pydantic", "scipy", "numpy"} <= names
    assert not names & {"torch", "hypothesis", "jsonschema", "lightning", "transformers", "accelerate", "pytest-xdist"}
    assert all("==" in each for each in gpu_bundle.requirements())


def test_wheels_are_fetched_for_each_python_that_is_asked_for(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another version of Python than this one's needs its platform named."""
    calls: list[list[str]] = []
    real = subprocess.run

    def run(command: list[str], **options: object) -> object:
        if "download" in command:
            calls.append(command)
            return None
        return real(command, **options)  # type: ignore[call-overload]

    monkeypatch.setattr(gpu_bundle.subprocess, "run", run)
    here = f"{sys.version_info.major}.{sys.version_info.minor}"
    gpu_bundle.build(tmp_path / "bundle", [here, "3.99"])
    assert [("--python-version" in each, "--only-binary=:all:" in each) for each in calls] == [
        (False, True),
        (True, True),
    ]
    assert "3.99" in calls[1]
    assert (tmp_path / "bundle/project/constraints.txt").is_file()
    assert (tmp_path / "bundle/requirements.txt").read_text(encoding="utf-8").splitlines() == gpu_bundle.requirements()


@pytest.mark.slow
def test_the_folder_runs_where_nothing_can_be_fetched(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An environment of its own, over the packages of the Python that was named; options reach the measuring script."""
    monkeypatch.setattr(gpu_bundle, "requirements", list)
    monkeypatch.setattr(gpu_bundle, "wheels", lambda *_given: None)
    gpu_bundle.build(tmp_path / "a bundle", [])
    command = ["sh", str(tmp_path / "a bundle/run.sh"), sys.executable, "--seconds", "30"]
    environment = {**os.environ, "PIP_NO_INDEX": "1"}
    ended = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert ended.returncode == 0, ended.stderr
    into = str(tmp_path / "a bundle/gpu-result")
    assert f"measured True project ['--into', '{into}', '--seconds', '30']" in ended.stdout
    assert "[environment: " in ended.stdout
    around = tmp_path / "a bundle/env/lib" / f"python3.{sys.version_info.minor}" / "site-packages/around.pth"
    assert Path(around.read_text(encoding="utf-8").splitlines()[0]).is_dir()
