"""What a run finds around the project: its interpreter, CUDA, git, the event of a CI."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path

from verifygate.base.errors import UsageError
from verifygate.base.lifeline import temporary_folder
from verifygate.base.regular_files import MAX_ANSWER_BYTES, read_regular
from verifygate.change.ci_event import event_of
from verifygate.config.settings import Settings
from verifygate.doctor.answer import Answer, State
from verifygate.execution.environment import Interpreter, ask
from verifygate.execution.remedies import NAME_ANOTHER, for_imports, without_cuda, without_pytest, without_torch
from verifygate.process.interpreter import interpreter_of
from verifygate.process.isolation import isolation_of
from verifygate.process.subject import StartOptions, Subject
from verifygate.sources import git

SECONDS = 60.0
MOST = 5
"""Modules that are named; of more the number is told."""
_MAIN = ("origin/HEAD", "origin/main", "origin/master", "main", "master")
"""What the branch may be called that changes are merged into, where nothing names it."""
_ABSENT = """
import importlib.util, json, sys
sys.path[:0] = sys.argv[3:]
names = json.loads(sys.argv[2])
absent = [name for name in names if name not in sys.builtin_module_names and importlib.util.find_spec(name) is None]
with open(sys.argv[1], "w", encoding="utf-8") as file:
    json.dump(absent, file)
"""


def interpreter(
    settings: Settings, *, has_tests: bool, modules: Mapping[str, str], path: tuple[str, ...]
) -> Iterator[Answer]:
    """The interpreter that will run the project's code, and what is in it. No code of the project runs."""
    try:
        found = interpreter_of(settings)
    except UsageError as error:
        where = f"{error.where}: " if error.where else ""
        yield Answer("interpreter", State.FAILED, f"{where}{error.problem}", error.remedy or "")
        return
    shown = _shown(found, settings.root)
    subject = Subject(settings.root, found, settings.execution.pass_env, isolation_of(settings.execution.isolation))
    with temporary_folder("doctor") as folder:
        answered = ask(subject, Path(folder))
        if answered.problem:
            yield Answer("interpreter", State.FAILED, f"{shown}: {answered.problem}", NAME_ANOTHER)
            return
        how = "configured" if settings.execution.interpreter else "discovered"
        yield Answer("interpreter", State.OK, f"{shown}, Python {answered.answers['python']} ({how})")
        yield from _packages(answered, shown, has_tests=has_tests)
        yield _imports(subject, Path(folder), modules, shown, path)
    yield _cuda(answered, settings)


def _packages(answered: Interpreter, shown: str, *, has_tests: bool) -> Iterator[Answer]:
    """pytest and torch: without tests, nothing needs them."""
    state = State.FAILED if has_tests else State.NOTE
    for name, lack in (("pytest", without_pytest), ("torch", without_torch)):
        if answered.has(name):
            yield Answer(name, State.OK, answered.answers[name])
        else:
            text, _, remedy = lack(shown).partition(": ")
            yield Answer(name, state, text, remedy)


def _imports(subject: Subject, folder: Path, modules: Mapping[str, str], shown: str, path: tuple[str, ...]) -> Answer:
    """Modules that the sources import and the interpreter does not find: asked without importing any of them."""
    answer = folder / "absent.json"
    asked = [name for name in modules if name != "torch"]
    inner = [str(subject.root / each) for each in (*path, ".")]
    try:
        command = ["-P", "-c", _ABSENT, str(answer), json.dumps(asked), *inner]
        subject.run(command, seconds=SECONDS, start=StartOptions(safe_path=True, answers=[folder]))
        absent = [str(name) for name in json.loads(read_regular(answer, MAX_ANSWER_BYTES))]
    except (OSError, ValueError):
        return Answer("imports", State.NOTE, "not known: the interpreter did not say which modules it finds")
    if not absent:
        return Answer("imports", State.OK, "every module that the sources import is found")
    named = {name.casefold(): f"{name} ({modules[name]})" for name in reversed(absent)}  # PIL and pil are one package
    shown_first = list(reversed(named.values()))[: MOST + 1 if len(named) == MOST + 1 else MOST]  # never "and 1 more"
    first = ", ".join(shown_first)
    more = f" and {len(named) - len(shown_first)} more" if len(named) > len(shown_first) else ""
    remedy = for_imports([f"No module named '{name}'" for name in absent], shown, subject.root)
    return Answer("imports", State.NOTE, f"not found in {shown}: {first}{more}", remedy)


def _cuda(answered: Interpreter, settings: Settings) -> Answer:
    told = answered.answers.get("cuda", "not known")
    if told[:1].isdigit():
        return Answer("CUDA", State.OK, told)
    if told != "not available":
        return Answer("CUDA", State.NOTE, told)
    if settings.execution.emulate_cuda:
        text = "not available; tests that skip for want of it run again with CUDA emulated"
        return Answer("CUDA", State.NOTE, text, without_cuda(emulated=True))
    return Answer("CUDA", State.NOTE, "not available, and not emulated", without_cuda(emulated=False))


def ci(environment: Mapping[str, str], root: Path) -> tuple[Answer, str]:
    """The event of this CI job, as `run --ci` goes by it, and the commit that its change is based on."""
    if not (environment.get("GITHUB_ACTIONS") or environment.get("GITLAB_CI")):
        if environment.get("CI", "").lower() in ("1", "true"):
            remedy = "name the base of a change: `run --since REVISION`"
            return Answer("CI", State.NOTE, "a service whose events `run --ci` does not know", remedy), ""
        return Answer("CI", State.OK, "none: a person's machine"), ""
    try:
        event = event_of(environment, root)
    except UsageError as error:
        return Answer("CI", State.FAILED, error.problem, error.remedy or ""), ""
    if event.problem:
        return Answer("CI", State.FAILED, event.words, event.remedy), ""
    return Answer("CI", State.OK, event.words), event.base


def repository(settings: Settings, base: str) -> Iterator[Answer]:
    """git, and the commit that a change is based on: `base` where a CI event tells it."""
    state = git.describe(settings.root, settings.sources)
    if state == "none":
        remedy = "`git init`, or run in a clone: `--since` and permalinks need the history"
        yield Answer("git", State.NOTE, "no repository with a commit", remedy)
        return
    commit, plus, _ = state.partition("+")
    yield Answer("git", State.OK, f"commit {commit[:12]}" + (", and local changes" if plus else ""))
    if base:
        yield Answer("merge base", State.OK, f"{base[:12]} (`run --ci`)")
        return
    for revision in _MAIN:
        if found := git.common(settings.root, revision):
            yield Answer("merge base", State.OK, f"with {revision}: {found[:12]} (`run --since {revision}`)")
            return
    none = f"none of {', '.join(_MAIN)} is known here"
    yield Answer("merge base", State.NOTE, none, "name the base branch: `run --since REVISION`")


def _shown(path: Path, root: Path) -> str:
    """The interpreter as a person in the root would type it."""
    relative = os.path.relpath(path, root)
    return str(path) if relative.startswith("..") else Path(relative).as_posix()
