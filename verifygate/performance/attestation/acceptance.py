"""Whether a record is believed, and why not: pure questions about its bytes, the files that are there, and the date."""

from __future__ import annotations

import datetime as dt
import tomllib
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from fnmatch import fnmatchcase
from pathlib import Path, PurePosixPath

from pydantic import ValidationError

from verifygate.attestation import envelope
from verifygate.base.errors import UsageError
from verifygate.base.regular_files import MAX_KEY_BYTES, read_argument, read_regular
from verifygate.base.strict_json import MAX_BYTES, DocumentError, parsed
from verifygate.config.performance import RecordsSettings
from verifygate.config.settings import Settings
from verifygate.performance.attestation.closure import digests, imported_files, settings_files
from verifygate.performance.attestation.figures import disagreements
from verifygate.performance.attestation.statement import Predicate, Statement, read, utc
from verifygate.performance.comparison import Comparison, Plan, loaded
from verifygate.sources import git

SKEW = dt.timedelta(minutes=5)
"""How far the clocks of two machines may be apart."""
AGAIN = "measure again on such a device: `verifygate bench record`"


class UntrustedError(Exception):
    """Nobody vouches for the record; the message says why in one line."""


@dataclass(frozen=True)
class Terms:
    """By what a record is judged: the project as it is here, its rules, and the moment."""

    root: Path
    plan: Plan
    records: RecordsSettings
    now: dt.datetime
    base: str = ""
    """The commit that a change began at: nothing that the change brings is believed for its own sake."""
    public_key: bytes | None = None


@dataclass(frozen=True)
class Ruling:
    """What came of one record."""

    path: str
    refusals: tuple[str, ...] = ()
    """Why it is not believed, a line each; empty where it is."""
    changed: tuple[str, ...] = ()
    """`path (changed)`, `path (new)` or `path (gone)`, for every file that is not what was measured."""
    forged: bool = False
    """Whether it contradicts itself or its signature: no honest record does."""
    signed: bool = False
    """Whether a signature was verified."""
    unreadable: bool = False
    """Whether it is no record at all."""
    statement: Statement | None = None
    comparison: Comparison | None = None

    @property
    def accepted(self) -> bool:
        return not self.refusals

    @property
    def told(self) -> str:
        """Accepted or refused, and why, in one line."""
        if self.accepted:
            return f"accepted: {self.origin}" + (", signature verified" if self.signed else ", not signed")
        return f"refused: {'; '.join(self.refusals)}"

    @property
    def origin(self) -> str:
        """Where its figures come from, in words."""
        assert self.statement is not None  # noqa: S101 - asked of what could be read
        return f"measured on {device_of(self.comparison)} on {utc(self.statement.predicate.finished)}"


def terms(settings: Settings, plan: Plan, base: str, now: dt.datetime) -> Terms:
    """The terms of this run: those of the settings or, with `base`, those that stood at that commit.

    Raises UsageError where a public key is named that is not there.
    """
    records = settings.performance.records
    if base:
        records = _records_at(settings, base)
    key: bytes | None = None
    if name := records.public_key:
        try:
            key = git.file_at(settings.root, base, name) if base else read_regular(settings.root / name, MAX_KEY_BYTES)
        except OSError as error:
            key, reason = None, error.strerror
        else:
            reason = "it is not there"
        if key is None:
            where = settings.place("performance", "records", "public_key")
            raise UsageError(f"the key `{name}` cannot be read: {reason}", where=where, remedy="name a PEM file")
    return Terms(settings.root, plan, records, now, base, key)


def _records_at(settings: Settings, base: str) -> RecordsSettings:
    """The table `[performance.records]` as it stood at a commit; the defaults, which trust nobody, for want of one."""
    data = git.file_at(settings.root, base, settings.config) if settings.config else None
    try:
        document = tomllib.loads((data or b"").decode("utf-8-sig"))
        if settings.config == "pyproject.toml":
            document = document.get("tool", {}).get("verifygate", {})
        return RecordsSettings.model_validate(document.get("performance", {}).get("records", {}))
    except (ValueError, AttributeError, ValidationError):
        return RecordsSettings()


def examined(path: str, terms: Terms) -> Ruling:
    """Judge the record at `path`, which is relative to the root. Never raises for what is in it."""
    try:
        data = read_regular(terms.root / path, MAX_BYTES, tree=terms.root)
    except OSError as error:
        return Ruling(path, (f"it cannot be read: {error.strerror}",), unreadable=True)
    try:
        statement, signed = _trusted(path, data, terms)
    except DocumentError as error:
        return Ruling(path, (str(error),), unreadable=True)
    except UntrustedError as error:
        return Ruling(path, (str(error),))
    except envelope.SignatureError as error:
        return Ruling(path, (str(error),), forged=error.forged)
    try:
        comparison = loaded(statement.predicate.comparison)
    except ValueError as error:
        return Ruling(path, (str(error),), signed=signed, statement=statement)
    if false := disagreements(comparison, statement.predicate.figures):
        reason = f"its summary does not follow from its samples: {', '.join(false)}"
        return Ruling(path, (reason,), forged=True, signed=signed, statement=statement, comparison=comparison)
    changed = _changed(statement, terms)
    refusals = [
        *_wrong_plan(comparison.plan, terms.plan),
        *_wrong_place(comparison, terms.records.device),
        *_wrong_time(statement.predicate, terms),
        *([f"files are not what was measured: {', '.join(changed)}"] if changed else []),
    ]
    return Ruling(path, tuple(refusals), changed, signed=signed, statement=statement, comparison=comparison)


def sound(path: Path) -> Comparison:
    """What a record holds, whoever made it and of whatever files. Raises UsageError where it contradicts itself."""
    remedy = "name a record of `verifygate bench record`"
    try:
        document = parsed(read_argument(path, MAX_BYTES))
        if envelope.is_envelope(document):
            document = parsed(envelope.payload_of(document))
        statement = read(document)
        comparison = loaded(statement.predicate.comparison)
    except OSError as error:
        raise UsageError(f"cannot be read: {error.strerror}", where=str(path), remedy=remedy) from None
    except (DocumentError, envelope.SignatureError, ValueError) as error:
        raise UsageError(str(error), where=str(path), remedy=remedy) from None
    if false := disagreements(comparison, statement.predicate.figures):
        problem = f"its summary does not follow from its samples: {', '.join(false)}"
        raise UsageError(problem, where=str(path), remedy=remedy)
    return comparison


def found_records(root: Path, patterns: Iterable[str]) -> tuple[str, ...]:
    """Records below the root, relative to it, in order."""
    return settings_files(root, patterns)


def newest(rulings: Iterable[Ruling]) -> Ruling | None:
    """The accepted record that was measured last."""
    accepted = [each for each in rulings if each.accepted and each.statement is not None]
    return max(accepted, key=lambda each: (each.statement.predicate.finished, each.path), default=None)  # type: ignore[union-attr]


def subjects(root: Path, workload: str, patterns: Iterable[str], seen: Iterable[str] = ()) -> dict[str, str]:
    """Path -> sha256 of every file that a measurement of the workload rests on; `seen`: those a run told of."""
    return digests(root, [*imported_files(root, workload), *settings_files(root, patterns), *seen])


def device_of(comparison: Comparison | None) -> str:
    host = comparison.host if comparison else None
    return host.device_name if host else "an unknown device"


def _trusted(path: str, data: bytes, terms: Terms) -> tuple[Statement, bool]:
    """What the record states, and whether a signature vouches for it.

    Raises DocumentError, SignatureError or UntrustedError.
    """
    document = parsed(data)
    if envelope.is_sigstore(document):
        raise UntrustedError(envelope.SIGSTORE)
    if envelope.is_envelope(document):
        if terms.public_key is not None:
            return read(parsed(envelope.verified(document, terms.public_key))), True
        statement = read(parsed(envelope.payload_of(document)))
    elif terms.public_key is not None:
        raise UntrustedError("it is not signed, and the settings name a public key")
    else:
        statement = read(document)
    if terms.base and git.file_at(terms.root, terms.base, path) != data:
        raise UntrustedError("it comes with the change itself, and no public key at its base vouches for it")
    return statement, False


def _wrong_plan(measured: Plan, wanted: Plan) -> list[str]:
    there, here = asdict(measured), asdict(wanted)
    different = [
        f"{name} {_plain(there[name])} there, {_plain(here[name])} here" for name in here if there[name] != here[name]
    ]
    return [f"it was measured with other settings: {', '.join(different)}"] if different else []


def _plain(value: object) -> str:
    return " ".join(map(str, value)) if isinstance(value, (tuple, list)) else str(value)


def _wrong_place(comparison: Comparison, pattern: str) -> list[str]:
    device = device_of(comparison)
    return (
        [] if fnmatchcase(device, pattern) else [f"it was measured on {device}, and the settings ask for `{pattern}`"]
    )


def _wrong_time(predicate: Predicate, terms: Terms) -> list[str]:
    began, ended, now = predicate.started, predicate.finished, terms.now
    if began > ended:
        return ["it ended before it began"]
    if ended > now + SKEW:
        return [f"it is dated in the future: {utc(ended)}"]
    if (now.astimezone(dt.UTC).date() - ended.astimezone(dt.UTC).date()).days > terms.records.max_age_days:
        return [f"it is older than {terms.records.max_age_days} days: {utc(ended)}"]
    return []


def _changed(statement: Statement, terms: Terms) -> tuple[str, ...]:
    """How the files differ from those that were measured, one entry a file."""
    there = statement.files
    outside = {name for name in there if PurePosixPath(name).is_absolute() or ".." in PurePosixPath(name).parts}
    here = subjects(terms.root, terms.plan.module, terms.records.files, set(there) - outside)
    told: Callable[[str], str] = lambda name: "gone" if name not in here else "new" if name not in there else "changed"  # noqa: E731
    return tuple(f"{name} ({told(name)})" for name in sorted({*there, *here}) if there.get(name) != here.get(name))
