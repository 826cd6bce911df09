"""Ways to have git start a program: each is planted in a repository, with a command of plain git that falls for it."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

HOOKS = ("post-index-change", "post-checkout", "reference-transaction", "pre-auto-gc", "pre-commit", "post-commit")
MARKS = """\
#!/bin/sh
echo "$0 $* of $(tr '\\0' ' ' < /proc/$PPID/cmdline)" >> {0}
[ "$1" = git-upload-pack ] || cat
"""
"""A program that leaves a mark, with the process that started it."""
REQUEST = "protocol=https\nhost=example.org\n\n"
FAULTY = """\
def train(model, optimizer, scaler, batches):
    for batch in batches:
        optimizer.zero_grad()
        scaler.scale(model(batch)).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
"""


class Planted:
    """A repository of two commits, and the marks that a program leaves that runs."""

    def __init__(self, folder: Path) -> None:
        self.root, self.marks, self.home = folder / "project", folder / "marks", folder / "home"
        for each in (self.root, self.marks, self.home):
            each.mkdir()
        self.evil = folder / "evil"
        self.evil.write_text(MARKS.format(self.marks / "ran"), encoding="utf-8")
        self.evil.chmod(0o755)
        self.git("init", "-q", "-b", "main")
        self.write("train.py", f"import torch\n\n\n{FAULTY}")
        self.write("moved.py", "".join(f"VALUE_{number} = {number}\n" for number in range(20)))
        self.write("gone.py", "GONE = 1\n")
        self.commit()
        self.git("rm", "-q", "gone.py")
        self.git("mv", "moved.py", "elsewhere.py")
        self.write("other.py", f"import torch\n\n\n{FAULTY}")
        self.commit()

    def git(self, *arguments: str, environment: Mapping[str, str] | None = None) -> str:
        """What plain git says, with the configuration of this home folder."""
        identity = ("-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "protocol.ext.allow=always")
        names = os.environ | {"HOME": str(self.home), "GIT_PAGER_IN_USE": "1"} | dict(environment or {})
        ended = subprocess.run(
            ["git", "-C", str(self.root), *identity, *arguments],
            capture_output=True,
            text=True,
            env=names,
            input=REQUEST,
        )
        return ended.stdout.strip()

    def write(self, path: str, text: str) -> Path:
        place = self.root / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text, encoding="utf-8")
        return place

    def commit(self) -> None:
        self.git("add", "-A")
        self.git("commit", "-qm", "a commit")

    def configure(self, key: str, value: str = "") -> None:
        self.git("config", key, value or str(self.evil))

    def touch(self) -> None:
        """Let the index know nothing of the files any more: git reads them again."""
        for file in self.root.glob("*.py"):
            os.utime(file, (1, 1))

    @property
    def has_run(self) -> str:
        """What ran since this was asked last."""
        mark = self.marks / "ran"
        told = mark.read_text(encoding="utf-8") if mark.exists() else ""
        mark.unlink(missing_ok=True)
        return told


class Form(NamedTuple):
    """One way."""

    plant: Callable[[Planted], None]
    falls_for: tuple[str, ...]
    """What of plain git starts the program; nothing where it is no repository's, or needs another machine."""
    environment: Callable[[Planted], Mapping[str, str]] = lambda _: {}


def _hooks_path(at: Planted) -> None:
    _hooks(at, at.root / ".hooks")
    at.configure("core.hooksPath", str(at.root / ".hooks"))


def _hooks(at: Planted, folder: Path | None = None) -> None:
    folder = folder or at.root / ".git/hooks"
    folder.mkdir(exist_ok=True)
    for name in HOOKS:
        (folder / name).write_bytes(at.evil.read_bytes())
        (folder / name).chmod(0o755)
    at.touch()


def _attributes(at: Planted, line: str, path: str = ".gitattributes") -> None:
    at.write(path, f"{line}\n")
    at.touch()


def _textconv(at: Planted) -> None:
    _attributes(at, "*.py diff=evil")
    at.configure("diff.evil.textconv")
    at.write("train.py", "import torch\n")


def _external(at: Planted) -> None:
    at.configure("diff.external")
    at.write("train.py", "import torch\n")


def _filter(name: str, attributes: str) -> Callable[[Planted], None]:
    def plant(at: Planted) -> None:
        at.configure(f"filter.evil.{name}")
        _attributes(at, "*.py filter=evil", attributes)

    return plant


def _include(at: Planted) -> None:
    at.write(".included", f"[core]\n\tfsmonitor = {at.evil}\n")
    at.configure("include.path", str(at.root / ".included"))


def _include_if(at: Planted) -> None:
    at.write(".included", f"[core]\n\tfsmonitor = {at.evil}\n")
    at.configure(f"includeIf.gitdir:{at.root}/.path", str(at.root / ".included"))


def _promisor(at: Planted) -> None:
    at.configure("core.repositoryFormatVersion", "1")
    at.configure("extensions.partialClone", "origin")
    at.configure("remote.origin.promisor", "true")
    at.configure("remote.origin.url", f"ext::{at.evil} %S")
    at.configure("protocol.ext.allow", "always")
    at.configure("core.sshCommand")
    name = at.git("rev-parse", "HEAD~1:gone.py")
    (at.root / ".git/objects" / name[:2] / name[2:]).unlink()


def _submodule(at: Planted) -> None:
    inner = Planted.__new__(Planted)
    inner.root, inner.home = at.root / "inner", at.home
    inner.root.mkdir()
    inner.git("init", "-q")
    inner.write("code.py", "VALUE = 1\n")
    inner.commit()
    at.commit()
    inner.configure("core.fsmonitor", str(at.evil))


def _user(at: Planted) -> None:
    (at.home / ".gitconfig").write_text(f"[core]\n\tfsmonitor = {at.evil}\n", encoding="utf-8")


def _program(at: Planted) -> None:
    place = at.write(".venv/bin/git", at.evil.read_text(encoding="utf-8"))
    place.chmod(0o755)


def _variables(at: Planted) -> Mapping[str, str]:
    return {
        "GIT_EXTERNAL_DIFF": str(at.evil),
        "GIT_SSH_COMMAND": str(at.evil),
        "GIT_PAGER": str(at.evil),
        "GIT_ASKPASS": str(at.evil),
        "GIT_CONFIG_COUNT": "1",
        "GIT_CONFIG_KEY_0": "core.fsmonitor",
        "GIT_CONFIG_VALUE_0": str(at.evil),
    }


def _exec_path(at: Planted) -> Mapping[str, str]:
    return {"GIT_EXEC_PATH": str(at.root / ".venv/bin"), "GIT_CONFIG_PARAMETERS": f"'core.fsmonitor={at.evil}'"}


FORMS = {
    "core.fsmonitor": Form(lambda at: at.configure("core.fsmonitor"), ("status",)),
    "core.hooksPath": Form(_hooks_path, ("status",)),
    "hooks": Form(_hooks, ("status",)),
    "diff.external": Form(_external, ("diff",)),
    "textconv": Form(_textconv, ("diff",)),
    "filter.clean": Form(_filter("clean", ".gitattributes"), ("status",)),
    "filter.smudge": Form(_filter("smudge", ".git/info/attributes"), ("archive", "--format=tar", "HEAD~1")),
    "filter.process": Form(_filter("process", ".git/info/attributes"), ("status",)),
    "include.path": Form(_include, ("status",)),
    "includeIf": Form(_include_if, ("status",)),
    "alias": Form(lambda at: at.configure("alias.st", f"!{at.evil}"), ("st",)),
    "promisor": Form(_promisor, ("cat-file", "blob", "HEAD~1:gone.py")),
    "core.pager": Form(lambda at: at.configure("pager.log", str(at.evil)), ()),
    "core.editor": Form(lambda at: at.configure("core.editor"), ("commit", "--amend")),
    "gpg.program": Form(lambda at: at.configure("gpg.program"), ("commit", "-S", "--allow-empty", "-m", "x")),
    "credential.helper": Form(lambda at: at.configure("credential.helper"), ("credential", "fill")),
    "tar": Form(lambda at: at.configure("tar.tgz.command"), ("archive", "--format=tgz", "HEAD")),
    "submodule": Form(_submodule, ("status",)),
    "the user's configuration": Form(_user, ("status",)),
    "variables": Form(lambda _: None, ("status",), _variables),
    "GIT_CONFIG_PARAMETERS": Form(lambda _: None, ("status",), _exec_path),
    "a git in the tree": Form(_program, (), lambda at: {"PATH": f"{at.root}/.venv/bin:{os.environ['PATH']}"}),
}


def plant_all(at: Planted, set_variable: Callable[[str, str], None]) -> None:
    """Plant every way but for the one that takes an object away, and see that git falls for them."""
    for name, form in FORMS.items():
        if name != "promisor":
            form.plant(at)
    for form in FORMS.values():
        for name, value in form.environment(at).items():
            set_variable(name, value)
    at.git("status")
    assert at.has_run
    at.touch()
