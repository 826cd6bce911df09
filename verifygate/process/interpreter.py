"""Which interpreter runs the audited project's code: the configured one, else the one discovered.

A change must not bring the program that judges it. An interpreter in the audited tree is used where it belongs to the
machine (a virtual environment that git does not keep), or where the policy of the base names it.
"""

from __future__ import annotations

import contextlib
import os
import re
import sys
from dataclasses import replace
from pathlib import Path

from verifygate.base.errors import UsageError
from verifygate.base.regular_files import MIB, open_regular, read_regular
from verifygate.config.settings import Settings
from verifygate.process.isolation import LAYERS, Isolation, can_be_hermetic, isolation_of
from verifygate.process.subject import Subject
from verifygate.sources import git


def discover_interpreter(root: Path) -> Path:
    """The project's own interpreter: an active virtual environment, or a local one that has torch or pytest, else the
    gate's own.

    An active environment is somebody's choice, so it goes before `.venv` and `venv` in the root, whatever it lacks;
    unless it is the one that the gate itself is installed in, which says nothing about the project.
    """
    active = os.environ.get("VIRTUAL_ENV")
    if active and Path(active).resolve() != Path(sys.prefix).resolve():
        chosen = Path(active) / "bin" / "python"
        if os.access(chosen, os.X_OK):
            return chosen
    for place in (root / ".venv", root / "venv"):
        candidate = place / "bin" / "python"
        if os.access(candidate, os.X_OK) and (_has(candidate, "torch") or _has(candidate, "pytest")):
            return candidate
    return Path(sys.executable)


def _has(interpreter: Path, package: str) -> bool:
    """Also where the environment sees the packages of the Python that it was made with."""
    environment = interpreter.parent.parent
    places = [environment]
    with contextlib.suppress(OSError, UnicodeDecodeError):
        said = read_regular(environment / "pyvenv.cfg", MIB).decode()
        told = dict(re.findall(r"^([\w-]+)\s*=\s*(.*?)\s*$", said, re.MULTILINE))
        if told.get("include-system-site-packages", "").lower() == "true" and told.get("home"):
            places += [Path(told["home"]).parent, Path(told["home"]).parent / "local"]
    return any(True for place in places for _ in (place / "lib").glob(f"python3*/*-packages/{package}"))


def interpreter_of(settings: Settings, base: str = "") -> Path:
    """The project's interpreter: the one that is configured, else the one discovered.

    `base` is the commit whose policy is in force. Raises UsageError where there is no such interpreter, or where it is
    the change's own.
    """
    given = settings.execution.interpreter
    if not given:
        found = discover_interpreter(settings.root)
        _refuse_of_change(found, settings, base="")
        return found
    path = Path(given) if Path(given).is_absolute() else settings.root / given
    if not (path.is_file() and os.access(path, os.X_OK)):
        raise UsageError(
            f"`{given}` is not an interpreter: it {'cannot be executed' if path.is_file() else 'does not exist'}",
            where=settings.place("execution", "interpreter"),
            remedy="name the project's Python, for example `.venv/bin/python`",
        )
    _refuse_of_change(path, settings, base)
    return path


def _refuse_of_change(path: Path, settings: Settings, base: str) -> None:
    """Raise UsageError for an interpreter that came with the audited tree.

    It did where git keeps it, or any part of its environment; without git, where it is a script. One that the policy of
    the base names may be there, as long as it is as it was.
    """
    inside = Path(os.path.normpath(path))
    if not inside.is_relative_to(settings.root):
        return
    name = inside.relative_to(settings.root).as_posix()
    home = inside.parent.parent
    environment = [home.relative_to(settings.root).as_posix()] if (home / "pyvenv.cfg").exists() else []
    kept = git.tracked(settings.root, [name, *environment])
    if base:
        if git.changed(settings.root, base, (name,)):
            raise UsageError(f"`{name}` is not as it was at {base[:12]}", where=_place(settings), remedy=_REMEDY)
        return
    if kept:
        raise UsageError(
            f"`{name}` came with the audited tree: git keeps `{kept[0]}`", where=_place(settings), remedy=_REMEDY
        )
    is_of_tree = inside.resolve().is_relative_to(settings.root.resolve())
    if is_of_tree and _is_script(inside) and not git.head(settings.root)[0]:
        raise UsageError(f"`{name}` is a script in the audited tree", where=_place(settings), remedy=_REMEDY)


_REMEDY = (
    "use an interpreter from outside the tree, or an environment that git ignores; one that belongs to the repository "
    "has to be named in `execution.interpreter` at the base of the change (`--since`)"
)


def _place(settings: Settings) -> str | None:
    return settings.place("execution", "interpreter") if settings.execution.interpreter else None


def _is_script(path: Path) -> bool:
    with open_regular(path) as file:
        return file.read(2) == b"#!"


def subject_of(settings: Settings, base: str = "", guarded: tuple[Path, ...] = ()) -> Subject:
    """The project as it is configured to run; `base` is the commit whose policy is in force.

    `guarded` are files and folders that its tests must not change, beside what the gate trusts.

    Raises UsageError, also where isolation is required and cannot hold.
    """
    wanted = isolation_of(settings.execution.isolation)
    subject = Subject(settings.root, interpreter_of(settings, base), settings.execution.pass_env, wanted, guarded)
    if settings.execution.hermetic and wanted is not Isolation.OFF and can_be_hermetic():
        alone = replace(subject, isolation=Isolation.HERMETIC)
        if set(LAYERS) <= set(alone.layers()):
            return alone
    held = subject.layers() if wanted is Isolation.REQUIRED else LAYERS
    if missing := [name for name in LAYERS if name not in held]:
        raise UsageError(
            f"isolation is required, and this machine does not grant: {', '.join(missing)}",
            where=settings.place("execution", "isolation"),
            remedy="run where the kernel grants user namespaces and Landlock, or set `isolation` to `auto`",
        )
    return subject
