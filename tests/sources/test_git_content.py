"""What git's store and the working tree hold, as the gate reads them: whatever settings, flags and files say of it."""

from __future__ import annotations

import hashlib
import os
import subprocess
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest
import special_files
from planted_git import FORMS, Planted

from verifygate.base.errors import UsageError
from verifygate.sources import git
from verifygate.sources.git_export import export
from verifygate.sources.git_state import differing, git_folders, git_state

EVERYTHING = ["."]


@pytest.fixture
def planted(tmp_path: Path) -> Planted:
    return Planted(tmp_path)


def differs(at: Planted) -> bool:
    return git.describe(at.root, EVERYTHING).endswith("+changes")


def test_names_and_files_of_a_commit(planted: Planted) -> None:
    base = git.merge_base(planted.root, "HEAD~1")
    assert base == planted.git("rev-parse", "HEAD~1")
    assert [file.path for file in git.files_at(planted.root, base)] == ["gone.py", "moved.py", "train.py"]
    assert git.file_at(planted.root, base, "gone.py") == b"GONE = 1\n"
    assert git.file_at(planted.root, base, "none.py") is None
    assert git.renames(planted.root, base) == {"moved.py": "elsewhere.py"}
    assert git.changed(planted.root, base) == ("elsewhere.py", "gone.py", "moved.py", "other.py")
    assert git.tree_at(planted.root, base) == (
        planted.git("rev-parse", f"{base}^{{tree}}"),
        ("gone.py", "moved.py", "train.py"),
    )
    assert not differs(planted)


def test_a_signed_commit_is_read(planted: Planted) -> None:
    """Its signature has an empty line, as those have that a forge makes, and names no tree."""
    head = planted.git("cat-file", "commit", "HEAD").partition("\n\n")
    wrong = planted.git("rev-parse", "HEAD~1^{tree}")
    signature = f"gpgsig -----BEGIN PGP SIGNATURE-----\n \n tree {wrong}\n -----END PGP SIGNATURE-----"
    (planted.root / ".git/signed").write_text(f"{head[0]}\n{signature}\n\n{head[2]}\n", encoding="utf-8")
    signed = planted.git("hash-object", "-t", "commit", "-w", str(planted.root / ".git/signed"))
    assert git.tree_at(planted.root, signed) == git.tree_at(planted.root, "HEAD")
    assert git.tree_at(planted.root, signed) is not None


def test_a_folder_of_the_repository(planted: Planted) -> None:
    """All paths are relative to it, and what lies beside it is no affair of it."""
    planted.write("part/inner/code.py", "VALUE = 1\n")
    planted.commit()
    part, commit = planted.root / "part", planted.git("rev-parse", "HEAD")
    planted.write("part/inner/code.py", "VALUE = 2\n")
    planted.write("part/new.py", "NEW = 1\n")
    planted.write("beside.py", "NEW = 1\n")

    assert [file.path for file in git.files_at(part, commit)] == ["inner/code.py"]
    assert git.file_at(part, commit, "inner/code.py") == b"VALUE = 1\n"
    assert git.changed(part, commit) == ("inner/code.py", "new.py")
    assert git.changed(part, "HEAD~1") == ("inner/code.py", "new.py")
    assert git.describe(part, ["inner"]).endswith("+changes")
    assert not git.describe(part, ["none"]).endswith("+changes")
    assert git.untracked(part) == ("new.py",)
    assert git.tracked(part, ["inner"]) == ("inner/code.py",)


@pytest.mark.parametrize("flag", ["--assume-unchanged", "--skip-worktree"])
def test_no_flag_of_the_index_hides_a_change(planted: Planted, flag: str) -> None:
    planted.git("update-index", flag, "train.py")
    planted.write("train.py", "import torch\n")
    assert planted.git("status", "--porcelain") == ""
    assert differs(planted)
    (planted.root / "train.py").unlink()
    assert differs(planted)


def test_a_change_that_the_index_takes_for_none(planted: Planted) -> None:
    """Size and times are as the index has them, and the configuration tells git to look at no more."""
    planted.configure("core.checkStat", "minimal")
    planted.configure("core.trustctime", "false")
    file = planted.root / "train.py"
    os.utime(file, (1, 1))
    planted.git("update-index", "--refresh")
    file.write_bytes(file.read_bytes().replace(b"step", b"stop"))
    os.utime(file, (1, 1))
    assert planted.git("status", "--porcelain") == ""
    assert differs(planted)


def test_replaced_objects_and_grafts_forge_nothing(planted: Planted) -> None:
    base = planted.git("rev-parse", "HEAD~1")
    good, forged = planted.git("rev-parse", f"{base}:train.py"), planted.git("rev-parse", f"{base}:gone.py")
    planted.git("replace", good, forged)
    planted.write(".git/info/grafts", f"{planted.git('rev-parse', 'HEAD')}\n")
    assert planted.git("cat-file", "blob", good) == "GONE = 1"
    assert b"import torch" in (git.file_at(planted.root, base, "train.py") or b"")
    assert git.merge_base(planted.root, base) == base


def test_an_object_under_another_name_is_refused(planted: Planted) -> None:
    """git itself believes the name of a loose object."""
    base = planted.git("rev-parse", "HEAD~1")
    name = planted.git("rev-parse", f"{base}:train.py")
    file = planted.root / ".git/objects" / name[:2] / name[2:]
    file.chmod(0o644)
    file.write_bytes(zlib.compress(b"blob 2\0#\n"))
    assert planted.git("cat-file", "blob", name) == "#"
    with pytest.raises(UsageError, match="holds something else under the name"):
        git.file_at(planted.root, base, "train.py")


def test_another_repository_is_not_taken_for_this_one(
    planted: Planted, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither variables nor the configuration lead to one."""
    commit = planted.git("rev-parse", "HEAD")
    (tmp_path / "second").mkdir()
    second = Planted(tmp_path / "second")
    monkeypatch.setenv("GIT_DIR", str(second.root / ".git"))
    monkeypatch.setenv("GIT_WORK_TREE", str(second.root))
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path))
    planted.write(".git/config", f"[core]\n\tworktree = {second.root}\n")
    assert git.top(planted.root, "--since") == planted.root
    assert git.head(planted.root)[0] == commit


def test_a_repository_of_somebody_else_is_read(planted: Planted) -> None:
    """Nothing of it is obeyed, so `safe.directory` has nothing to protect from."""
    if os.geteuid() != 0:
        pytest.skip("only root gives files away")
    for path in (planted.root, planted.root / ".git"):
        os.chown(path, 12345, 12345)
    assert planted.git("rev-parse", "HEAD") == ""
    assert git.head(planted.root)[0]


def test_line_ends_of_a_right_checkout_are_no_change(planted: Planted) -> None:
    (planted.root / "train.py").write_bytes((planted.root / "train.py").read_bytes().replace(b"\n", b"\r\n"))
    assert not differs(planted)


def test_the_content_of_a_pointer_is_no_change(planted: Planted, tmp_path: Path) -> None:
    """git-lfs keeps the content apart; its filter is not run."""
    data = b"\0weights" * 100
    digest = hashlib.sha256(data).hexdigest()
    pointer = f"version https://git-lfs.github.com/spec/v1\noid sha256:{digest}\nsize {len(data)}\n"
    planted.write("weights.bin", pointer)
    planted.commit()
    (planted.root / "weights.bin").write_bytes(data)
    assert not differs(planted)

    kept = planted.root / ".git/lfs/objects" / digest[:2] / digest[2:4] / digest
    kept.parent.mkdir(parents=True)
    kept.write_bytes(data)
    export(planted.root, "HEAD", tmp_path / "exported")
    assert (tmp_path / "exported/weights.bin").read_bytes() == data
    (planted.root / "weights.bin").write_bytes(data + b"\0")
    assert differs(planted)


def test_what_a_sparse_checkout_leaves_out_is_not_gone(planted: Planted) -> None:
    planted.write("heavy/code.py", "VALUE = 1\n")
    planted.write("light/code.py", "VALUE = 1\n")
    planted.commit()
    planted.git("sparse-checkout", "set", "light", "--sparse-index")
    assert not (planted.root / "heavy").exists()
    assert not differs(planted)
    (planted.root / "light/code.py").unlink()
    assert differs(planted)


def test_a_submodule_is_compared_with_its_commit(planted: Planted) -> None:
    inner = planted.root / "inner"
    inner.mkdir()
    git_there = ["git", "-C", str(inner), "-c", "user.name=t", "-c", "user.email=t@example.org"]
    (inner / "code.py").write_text("VALUE = 1\n", encoding="utf-8")
    for arguments in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "inner"]):
        subprocess.run([*git_there, *arguments], check=True, capture_output=True)
    planted.commit()
    assert not differs(planted)
    (inner / "code.py").write_text("VALUE = 2\n", encoding="utf-8")
    assert differs(planted)


@pytest.mark.parametrize(
    "arguments",
    [["--shared"], ["--depth=2"], ["--no-local"], ["--no-checkout"]],
    ids=["alternates", "shallow", "packed", "nothing checked out"],
)
def test_clones_of_every_kind(planted: Planted, tmp_path: Path, arguments: list[str]) -> None:
    there = tmp_path / "clone"
    subprocess.run(["git", "clone", "-q", *arguments, f"file://{planted.root}", str(there)], check=True)
    assert git.head(there) == git.head(planted.root)
    assert git.is_shallow(there) == (arguments == ["--depth=2"])
    assert git.remote(there) == f"file://{planted.root}"
    assert git.default_branch(there) == "main"
    assert git.merge_base(there, "origin/main") == git.resolve(there, "@{u}") == git.head(there)[0]
    assert git.describe(there, EVERYTHING).endswith("+changes") == (arguments == ["--no-checkout"])
    assert len(list(git.files_at(there, "HEAD~1"))) == 3


def test_a_linked_working_tree(planted: Planted, tmp_path: Path) -> None:
    there = tmp_path / "linked"
    planted.git("worktree", "add", "-q", "-b", "side", str(there), "HEAD~1")
    assert git.top(there, "--since") == there
    assert git.head(there)[0] == git.resolve(planted.root, "HEAD~1") == git.merge_base(there, "main")
    assert git.describe(there, EVERYTHING) == git.head(there)[0]
    (there / "gone.py").unlink()
    assert git.changed(there, "HEAD") == ("gone.py",)


@pytest.mark.parametrize(
    "settings",
    [["index.version=4"], ["core.splitIndex=true"], ["feature.manyFiles=true"], ["core.untrackedCache=true"]],
)
def test_an_index_of_every_kind(planted: Planted, settings: list[str]) -> None:
    for each in settings:
        planted.configure(*each.split("="))
    planted.write("new.py", "NEW = 1\n")
    planted.write("fresh.py", "NEW = 1\n")
    planted.git("add", "new.py")
    planted.git("status")
    assert git.tracked(planted.root, ["new.py", "fresh.py"]) == ("new.py",)
    assert git.changed(planted.root, "HEAD") == ("fresh.py", "new.py")


def test_names_of_64_digits(tmp_path: Path) -> None:
    command = ["git", "-C", str(tmp_path), "-c", "user.name=t", "-c", "user.email=t@example.org"]
    (tmp_path / "code.py").write_text("VALUE = 1\n", encoding="utf-8")
    for arguments in (["init", "-q", "--object-format=sha256"], ["add", "-A"], ["commit", "-qm", "one"]):
        subprocess.run([*command, *arguments], check=True, capture_output=True)
    commit = git.head(tmp_path)[0]
    assert len(commit) == 64
    assert git.describe(tmp_path, EVERYTHING) == commit
    assert git.file_at(tmp_path, commit, "code.py") == b"VALUE = 1\n"


def test_a_clone_in_part_says_what_it_lacks(planted: Planted, tmp_path: Path) -> None:
    """It would be fetched by a program that the repository names."""
    planted.configure("uploadpack.allowFilter", "true")
    there = tmp_path / "clone"
    subprocess.run(["git", "clone", "-q", "--filter=blob:none", f"file://{planted.root}", str(there)], check=True)
    with pytest.raises(UsageError, match=r"lacks gone\.py .*git fetch --refetch --no-filter"):
        list(git.files_at(there, "HEAD~1"))
    assert [file.path for file in git.files_at(there, "HEAD~1", in_part=True)] == ["moved.py", "train.py"]
    subprocess.run(["git", "-C", str(there), "fetch", "-q", "--refetch", "--no-filter"], check=True)
    assert len(list(git.files_at(there, "HEAD~1"))) == 3


def test_special_files_in_the_place_of_gits_own(planted: Planted) -> None:
    """Nobody waits for a pipe."""
    for name in ("index", "config", "info/exclude", "packed-refs", "shallow"):
        (planted.root / ".git" / name).unlink(missing_ok=True)
        os.mkfifo(planted.root / ".git" / name)
    assert git.head(planted.root)[0]
    assert git.changed(planted.root, "HEAD") == ()


@pytest.mark.parametrize("place", [".", "sub/deeper"])
@pytest.mark.parametrize("made", [special_files.pipe, special_files.device])
def test_patterns_that_git_would_wait_for_are_refused_at_once(
    planted: Planted, place: str, made: Callable[[Path], None]
) -> None:
    (planted.root / place).mkdir(parents=True, exist_ok=True)
    (planted.root / place / ".gitignore").unlink(missing_ok=True)
    made(planted.root / place / ".gitignore")
    with pytest.raises(UsageError, match=r"\.gitignore: git cannot read its patterns: it is a"):
        git.changed(planted.root, "HEAD")
    with pytest.raises(UsageError, match=r"git cannot read its patterns"):
        git.ignored(planted.root / "sub" if place != "." else planted.root)


def test_what_is_to_be_protected_of_a_working_tree_and_its_submodules(planted: Planted, tmp_path: Path) -> None:
    FORMS["submodule"].plant(planted)
    own = planted.root / ".git"
    assert git_folders(planted.root) == git_folders(planted.root / "inner/..") == (own, planted.root / "inner/.git")
    planted.git("worktree", "add", "-q", "-b", "side", str(tmp_path / "linked"), "HEAD~2")
    assert git_folders(tmp_path / "linked") == (tmp_path / "linked/.git", own / "worktrees/linked", own)
    assert git_folders(tmp_path) == ()


def test_work_in_another_working_tree_and_packing_change_nothing_that_decides(planted: Planted, tmp_path: Path) -> None:
    planted.git("worktree", "add", "-q", "-b", "side", str(tmp_path / "linked"), "HEAD~1")
    before = git_state(planted.root)
    commit = ["git", "-C", str(tmp_path / "linked"), "-c", "user.name=t", "-c", "user.email=t@example.org"]
    subprocess.run([*commit, "commit", "-q", "--allow-empty", "-m", "elsewhere"], check=True)
    planted.git("pack-refs", "--all")
    planted.git("gc", "-q")
    planted.touch()
    planted.git("status")
    assert differing(before, git_state(planted.root)) == []
    planted.git("commit", "-q", "--allow-empty", "-m", "here")
    assert differing(before, git_state(planted.root)) == [".git/refs/heads/main"]


def test_a_repository_that_is_put_nearer_is_seen(planted: Planted) -> None:
    """It would stand for the base of every change."""
    planted.write("part/code.py", "VALUE = 1\n")
    before = git_state(planted.root / "part")
    subprocess.run(["git", "init", "-q", str(planted.root / "part")], check=True)
    assert ".git" in differing(before, git_state(planted.root / "part"))
