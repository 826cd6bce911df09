"""The policy of a change is that of the revision it is based on: a change does not decide by what it is judged.

Policy is what the configuration, the specification, the waivers, the baseline and the models of frameworks say. It is
read from the revision, not from the tree; what the tree says otherwise is listed in the report, and takes effect once
it is merged, or where somebody asks for it outright. What the code says of itself is no policy, and comes from the tree
that is judged: the versions that it allows, its name, its version.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from verifygate.base.digests import digest_of
from verifygate.base.errors import UsageError
from verifygate.base.lifeline import temporary_folder
from verifygate.base.regular_files import read_regular
from verifygate.base.strict_json import MAX_BYTES
from verifygate.baseline_file import Entry
from verifygate.baseline_file import read as read_baseline
from verifygate.config.documents import read_toml
from verifygate.config.locate import find
from verifygate.config.project import LABELS
from verifygate.config.settings import FileSettings, Settings, read_settings
from verifygate.execution.collected_tests import as_policy, read_config
from verifygate.model import PolicyDifference, PolicyOrigin, PolicyState
from verifygate.requirements import Specification, read_specification
from verifygate.sources import git
from verifygate.sources.left_out import IGNORE_FILE

SUFFIXES = (".toml", ".yaml", ".yml", ".ini", ".cfg", IGNORE_FILE)
"""Of files that policy is written in; only these are taken from the revision."""
SHOWN = 160


@dataclass(frozen=True)
class Ruled:
    """The settings to judge by, the baseline to compare with, and where they come from."""

    settings: Settings
    baseline: Path | None = None
    origin: PolicyOrigin | None = None


@contextmanager
def ruled(
    settings: Settings, config: Path | None, baseline: Path | None, asked: tuple[str, str], *, accept: bool
) -> Iterator[Ruled]:
    """What a run is judged by, as it stood at the revision that `asked` (an option and its value) names.

    `config` is the file that was named outright, if one was. With `accept` the policy of the tree stays in force, and
    the report says so. Raises UsageError where the revision, or what it says, cannot be used.
    """
    option, name = asked
    if not name:
        if accept:
            raise UsageError(
                "needs --since or --policy-from: there is no base policy to override",
                where="--accept-policy",
                remedy="use it with --since REV",
            )
        yield Ruled(settings, baseline)
        return
    found = git.resolve if option == "--policy-from" else git.merge_base
    commit = found(settings.root, name, option)
    top = git.top(settings.root, option)
    with temporary_folder("policy") as folder:
        copy = Path(folder).resolve()
        _write(copy, top, commit)
        unread = []
        try:
            before = _settings_at(settings, config, copy, top, commit)
        except UsageError as error:
            if not accept:  # else no change could ever repair a broken policy
                raise
            before = None
            unread = [PolicyDifference(key="policy", here="as in this tree", there=f"not usable: {error.problem}")]
        earlier = _baseline_at(baseline, copy, top, commit)
        altered = [
            *unread,
            *(differences(settings, before) if before else ()),
            *_of_baseline(baseline, earlier),
            *(_of_baseline_file(settings, before) if before else ()),
        ]
        origin = PolicyOrigin(
            commit=commit,
            asked=f"{option} {name}",
            state=PolicyState.ACCEPTED if accept else PolicyState.BASE,
            config=before.config if before else "",
            differences=tuple(altered),
        )
        yield Ruled(settings, baseline, origin) if accept else Ruled(before or settings, earlier or baseline, origin)


def _write(copy: Path, top: Path, commit: str) -> None:
    """What the revision holds of files that policy is written in."""
    (copy / ".git").mkdir()  # here the search for a configuration ends, as it does in the repository
    for file in git.files_at(top, commit, SUFFIXES):
        target = copy / file.path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(file.data)


def _write_models(config: Path, top: Path, commit: str, copy: Path) -> None:
    """What the revision holds of the models that its configuration names. A broken one is refused later, by line."""
    try:
        document = read_toml(config, config.name)
    except UsageError:
        return
    of_file = document.below("tool", "verifygate") if config.name == "pyproject.toml" else document
    static = of_file.data.get("static")
    named = static.get("models") if isinstance(static, dict) else None
    for each in named if isinstance(named, list) else ():
        target = Path(os.path.normpath(config.parent / each)) if isinstance(each, str) and "\0" not in each else copy
        if target != copy and target.is_relative_to(copy):
            data = git.file_at(top, commit, target.relative_to(copy).as_posix())
            if data is not None:
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(data)


def _settings_at(settings: Settings, config: Path | None, copy: Path, top: Path, commit: str) -> Settings:
    """The settings as the revision has them: the default ones where it has no configuration.

    Were the first configuration in force at once, a change could bring one that lets it pass.
    """
    if config is not None:
        inside = _below(config, top)
        file = copy / inside if inside and (copy / inside).is_file() else None
    else:
        start = copy / (_below(Path.cwd(), top) or ".")
        start.mkdir(parents=True, exist_ok=True)
        file = find(start)
    if file is None:
        folder = copy / (_below(settings.root, top) or ".")
        return Settings(root=settings.root, today=settings.today, policy_root=folder)
    inside = file.resolve().relative_to(copy).as_posix()
    root = (top / inside).parent
    _write_models(file, top, commit, copy)
    try:
        found = read_settings(file, f"{commit[:12]}:{inside}", root, settings.today)
        if found.requirements.spec:
            read_specification(found.policy_folder, found.requirements.spec)
    except UsageError as error:
        where = error.where if error.where and error.where.startswith(commit[:12]) else f"{commit[:12]}:{error.where}"
        remedy = f"{error.remedy or 'correct it'}, there or with --accept-policy here"
        raise UsageError(error.problem, where=where, remedy=remedy) from None
    return found.labelled_as(settings)


def _baseline_at(baseline: Path | None, copy: Path, top: Path, commit: str) -> Path | None:
    """The earlier report as the revision has it; None where it has none: then it is no part of the change's tree."""
    inside = _below(baseline, top) if baseline else ""
    data = git.file_at(top, commit, inside) if inside else None
    if data is None:
        return None
    target = copy / ".git" / "baseline.json"  # beside the files that the revision holds, and in nobody's way
    target.write_bytes(data)
    return target


def _of_baseline(baseline: Path | None, earlier: Path | None) -> Iterator[PolicyDifference]:
    if baseline and earlier and (not baseline.is_file() or _bytes(baseline) != _bytes(earlier)):
        yield PolicyDifference(key=f"baseline {baseline.as_posix()}", here="another report", there="an earlier one")


def _bytes(report: Path) -> bytes:
    return read_regular(report, MAX_BYTES)


def _of_baseline_file(here: Settings, there: Settings) -> Iterator[PolicyDifference]:
    """Old findings that the change adds to the baseline file, or takes out of it, one by one."""
    now, before = ({entry.fingerprint: entry for entry in _entries(each)} for each in (here, there))
    for key, entry in sorted((now | before).items(), key=lambda each: each[1]):
        if (key in now) != (key in before):
            words = ("in it", "not in it") if key in now else ("not in it", "in it")
            yield PolicyDifference(key=f"baseline file: {entry.words}", here=words[0], there=words[1])


def _entries(settings: Settings) -> tuple[Entry, ...]:
    file = settings.verdict.baseline
    path = settings.policy_folder / file
    return read_baseline(path, file) if file and path.is_file() else ()


def _below(path: Path, top: Path) -> str:
    """A path relative to the repository; empty where it lies outside."""
    relative = Path(os.path.relpath(path.resolve(), top))
    return "" if relative.parts[:1] == ("..",) else relative.as_posix()


# --- what a change alters


def differences(here: Settings, there: Settings) -> Iterator[PolicyDifference]:
    """Every setting, waiver and requirement that is not the same, in the order of the files."""
    pairs = [
        (_of_settings(here), _of_settings(there)),
        (_of_models(here), _of_models(there)),
        (as_policy(read_config(here.policy_folder)), as_policy(read_config(there.policy_folder))),
        (_of_specification(here), _of_specification(there)),
    ]
    for now, before in pairs:
        for key in dict.fromkeys((*before, *now)):
            if now.get(key) != before.get(key):
                yield PolicyDifference(key=key, here=_words(now.get(key)), there=_words(before.get(key)))


def _of_settings(settings: Settings) -> dict[str, Any]:
    told = settings.model_dump(mode="json", include=set(FileSettings.model_fields) - {"waivers"})
    told["project"] = {key: value for key, value in told["project"].items() if key not in LABELS}
    waivers = {
        f"waiver of {', '.join(waiver.checks)}": f"until {waiver.expires}, {waiver.owner}: {waiver.reason}"
        for waiver in settings.waivers
    }
    return dict(_leaves(told)) | waivers


def _of_models(settings: Settings) -> dict[str, str]:
    """What each model is, in a word that changes with it."""
    return {f"model {each.path}": f"sha256 {digest_of(each.text)[:16]}" for each in settings.models}


def _of_specification(settings: Settings) -> dict[str, Any]:
    """The specification in force with these settings; nothing where there is none."""
    if not settings.requirements.spec:
        return {}
    specification: Specification = read_specification(settings.policy_folder, settings.requirements.spec)
    told = specification.spec.model_dump(mode="json", exclude_defaults=True)
    rows = {row.get("id"): row for row in told.pop("requirements", ())}
    found = {f"specification: {key}": value for key, value in _leaves(told)}
    for name, row in rows.items():
        found |= {f"requirement {name}: {key}": value for key, value in row.items() if key != "id"}
    return found


def _leaves(value: Mapping[str, Any], above: str = "") -> Iterator[tuple[str, Any]]:
    """`performance.targets.speedup` and its value, for everything that is no table."""
    for key, child in value.items():
        if isinstance(child, Mapping):
            yield from _leaves(child, f"{above}{key}.")
        else:
            yield f"{above}{key}", child


def _words(value: Any) -> str:
    """A value as a person reads it in a table."""
    if value is None or value == "":
        return "not set"
    if value in ([], {}):
        return "nothing"
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= SHOWN else f"{text[: SHOWN - 4]} ..."
