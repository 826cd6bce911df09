"""git is asked without obeying the repository: nothing that its files name is started, and none forges content."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from planted_git import FORMS, Form, Planted

from verifygate.sources import git
from verifygate.sources.git_export import export
from verifygate.sources.git_state import git_state


@pytest.fixture
def planted(tmp_path: Path) -> Planted:
    return Planted(tmp_path)


def ask_everything(root: Path, target: Path) -> Iterator[object]:
    """Each question that the gate has for git."""
    base = git.merge_base(root, "HEAD~1")
    yield git.describe(root, ["."], ["."])
    yield git.head(root)
    yield git.common(root, "HEAD~1")
    yield git.renames(root, base)
    yield git.changed(root, base)
    yield [file.path for file in git.files_at(root, base, in_part=True)]
    yield git.tree_at(root, base)
    yield list(git.configuration_at(root, base))
    yield git.file_at(root, base, "train.py")
    yield git.untracked(root)
    yield git.ignored(root)
    yield git.tracked(root, ["."])
    yield git.remote(root)
    yield git.default_branch(root)
    yield git.is_shallow(root)
    yield git_state(root)
    export(root, "HEAD", target)


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_nothing_is_started_that_git_would_start(
    form: Form, planted: Planted, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    form.plant(planted)
    for name, value in {"HOME": str(planted.home), **form.environment(planted)}.items():
        monkeypatch.setenv(name, value)
    planted.git(*form.falls_for, environment=form.environment(planted))
    assert planted.has_run or not form.falls_for
    planted.touch()

    answers = list(ask_everything(planted.root, tmp_path / "exported"))

    assert planted.has_run == ""
    assert None not in answers
