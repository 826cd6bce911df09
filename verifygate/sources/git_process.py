"""Start git on a repository without obeying it: every call of the gate goes through `ask`.

git does what a repository says: its configuration, attributes and hooks name programs that git starts. So git is shown
another repository, made for one call: its configuration is ours, and its refs, objects and index are the real ones.
Whatever else lies in the real `.git` (hooks, aliases, filters, includes, replaced objects, remotes to fetch from) is
not there, and neither are the variables of the environment nor the configuration of the user and the machine.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import Literal, NamedTuple

from verifygate.base.owned_folders import owned, sweep, temporary_name
from verifygate.base.regular_files import repository_of
from verifygate.sources.git_folders import Repository, is_regular, text_of

SECONDS = 60.0
Verb = Literal["cat-file", "diff", "ls-files", "merge-base", "rev-parse", "symbolic-ref"]
"""What is asked of git. All of it is built into git, and none of it writes, starts programs or reaches a network."""

_OURS = """[core]
\trepositoryFormatVersion = 1
\tattributesFile = /dev/null
\thooksPath = /dev/null
\tcommitGraph = false
\tuntrackedCache = false
\tfsmonitor = false
\tquotePath = false
"""
_SHOWN = ("refs", "packed-refs", "logs", "shallow", "reftable")
"""What the real repository holds of names and history."""
_KEYS = re.compile(
    rb"extensions\.(objectformat|refstorage)|branch\..*\.(remote|merge)|remote\..*\.(fetch|url)", re.DOTALL
)
"""Keys of the real configuration whose values are used, as data: how objects are named, and what `main@{u}` is."""
_ENVIRONMENT = {
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_ATTR_NOSYSTEM": "1",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_GRAFT_FILE": os.devnull,
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_ALLOW_PROTOCOL": "none",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_LITERAL_PATHSPECS": "1",
    "GIT_TERMINAL_PROMPT": "0",
    "LC_ALL": "C",
}


_LIBRARIES = ("LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH")
"""Where a git that a cluster's module system installs finds what it needs to start."""


class Call(NamedTuple):
    """How git is started on a repository."""

    command: tuple[str, ...]
    environment: Mapping[str, str]


def ask(
    repository: Repository, folder: Path, verb: Verb, *arguments: str, given: bytes = b"", good: Sequence[int] = (0,)
) -> bytes | None:
    """What git prints in a folder; None where there is no git, or it ends with another exit code than a `good` one."""
    with call(repository, folder, verb, *arguments) as (command, environment):
        return _output(command, environment, given, good) if command else None


@contextmanager
def call(repository: Repository, folder: Path, verb: Verb, *arguments: str) -> Iterator[Call]:
    """While this lasts, git can be started on the repository by this command; it is empty where there is no git."""
    git = _program(os.environ.get("PATH", ""), str(repository.tree), repository_of(os.path.realpath(".")))
    if not git:
        yield Call((), {})
        return
    sweep()
    shown = temporary_name("git")
    with owned(shown):
        _show(repository, shown, git)
        options = () if verb != "ls-files" else ("-c", f"core.excludesFile={_ignored_by_user(git)}")
        yield Call((git, "-C", str(folder), "--no-pager", *options, verb, *arguments), _environment(repository, shown))


def is_there(repository: Repository) -> bool:
    """Whether there is a git that may be asked about a repository."""
    return bool(_program(os.environ.get("PATH", ""), str(repository.tree), repository_of(os.path.realpath("."))))


def configured(repository: Repository, key: str) -> str:
    """The value of a key of the repository's own configuration, as data; empty where it has none."""
    git = _program(os.environ.get("PATH", ""), str(repository.tree), repository_of(os.path.realpath(".")))
    return _values(git, text_of(repository.common / "config") or b"").get(key, "") if git else ""


def _show(repository: Repository, shown: Path, git: str) -> None:
    """Write the repository that git is shown."""
    head = repository.own / "HEAD"
    text = f"ref: {head.readlink().as_posix()}\n".encode() if head.is_symlink() else text_of(head) or b""
    (shown / "HEAD").write_bytes(text)
    settings = "".join(f"[{section}]\n\t{name} = {value}\n" for section, name, value in _kept(repository, git))
    (shown / "config").write_text(_OURS + settings, encoding="utf-8")
    (shown / "info").mkdir()
    (shown / "info/exclude").write_bytes(text_of(repository.common / "info/exclude") or b"")
    for name in _SHOWN:
        if (repository.common / name).is_dir() or is_regular(repository.common / name):
            (shown / name).symlink_to(repository.common / name)
    for part in repository.own.glob("sharedindex.*"):
        (shown / part.name).symlink_to(part)


def _kept(repository: Repository, git: str) -> Iterator[tuple[str, str, str]]:
    """What our configuration takes over: section, name and value, each quoted."""
    for key, value in _values(git, text_of(repository.common / "config") or b"").items():
        first, _, name = key.rpartition(".")
        section, dot, subsection = first.partition(".")
        if name != "url":
            yield f"{section} {_quoted(subsection)}" if dot else section, name, _quoted(value)


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'


@lru_cache(maxsize=8)
def _values(git: str, text: bytes) -> dict[str, str]:
    """The keys of a configuration that are used. It is handed over as text: nothing that it includes is read."""
    environment = {**_always(), "GIT_DIR": os.devnull}
    listed = _output((git, "-C", "/", "config", "--file", "-", "--no-includes", "--list", "-z"), environment, text)
    pairs = (entry.partition(b"\n") for entry in (listed or b"").split(b"\0"))
    return {_text(key): _text(value) for key, _, value in pairs if _KEYS.fullmatch(key) and _is_plain(key + value)}


def _is_plain(text: bytes) -> bool:
    return all(byte >= 32 or byte == 9 for byte in text)


@lru_cache(maxsize=1)
def _ignored_by_user(git: str) -> str:
    """The file of patterns that the user's own configuration names; else the usual one, which need not be there."""
    home = os.environ.get("HOME", "")
    usual = os.path.join(os.environ.get("XDG_CONFIG_HOME") or os.path.join(home, ".config"), "git/ignore")  # noqa: PTH118
    environment = {**_always(), "GIT_DIR": os.devnull, "HOME": home}
    environment.pop("GIT_CONFIG_GLOBAL")
    asked = (git, "-C", "/", "config", "--global", "--type=path", "--get", "core.excludesFile")
    named = (_output(asked, environment) or b"").strip()
    place = _text(named) if named else usual
    return place if text_of(Path(place)) is not None else os.devnull


def _always() -> dict[str, str]:
    return _ENVIRONMENT | {name: os.environ[name] for name in _LIBRARIES if name in os.environ}


def _environment(repository: Repository, shown: Path) -> dict[str, str]:
    index = repository.own / "index"
    found = {
        **_always(),
        "GIT_DIR": str(shown),
        "GIT_OBJECT_DIRECTORY": str(repository.common / "objects"),
        "GIT_INDEX_FILE": str(index if is_regular(index) else shown / "index"),
    }
    return found | ({"GIT_WORK_TREE": str(repository.top)} if repository.top else {})


@lru_cache(maxsize=8)
def _program(path: str, top: str, here: str) -> str:
    """The git that is installed: one that lies in the project is none, nor one in a relative place.

    `here` is the repository that a command runs in, which may be another than is asked about; empty for none.
    """
    trees = [os.path.realpath(tree) for tree in (top, here) if tree]
    places = [place for place in path.split(os.pathsep) if os.path.isabs(place)]  # noqa: PTH117 - text is enough
    outside = [
        place for place in places if not any(Path(os.path.realpath(place)).is_relative_to(each) for each in trees)
    ]
    return shutil.which("git", path=os.pathsep.join(outside)) or "" if outside else ""


def _output(
    command: Sequence[str], environment: Mapping[str, str], given: bytes = b"", good: Sequence[int] = (0,)
) -> bytes | None:
    try:
        ended = subprocess.run(
            command, input=given, capture_output=True, timeout=SECONDS, check=False, env=dict(environment)
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return ended.stdout if ended.returncode in good else None


def _text(data: bytes) -> str:
    return data.decode("utf-8", "surrogateescape")
