"""Entries of a project whose packages lie in `src`, and what a run says that ends by itself."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from verifygate.execution.oracles.runs import Job, run_jobs
from verifygate.process.subject import Subject

pytest.importorskip("torch")


def test_a_package_of_the_source_folder_is_found_and_its_last_words_are_told(tmp_path: Path) -> None:
    (package := tmp_path / "src" / "fits").mkdir(parents=True)
    (package / "__init__.py").touch()
    (package / "__main__.py").write_text("import sys\nimport fits\n\nsys.exit('no data here\\nsecond line')\n")
    (folder := tmp_path / "private").mkdir()

    (seen,) = run_jobs(Subject(tmp_path, Path(sys.executable)), [Job("python -m fits", tmp_path)], folder)

    assert seen.ending == "ended with exit code 1: no data here"
