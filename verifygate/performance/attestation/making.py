"""Measure, and write down what was measured together with the files that it rests on."""

from __future__ import annotations

import datetime as dt
import re
import secrets
from collections.abc import Callable
from dataclasses import dataclass

from verifygate import __version__
from verifygate.base.errors import UsageError
from verifygate.config.settings import Settings
from verifygate.performance.attestation.acceptance import device_of, subjects
from verifygate.performance.attestation.closure import own_files
from verifygate.performance.attestation.figures import figures
from verifygate.performance.attestation.statement import Predicate, Statement, stated
from verifygate.performance.comparison import Comparison, Trouble, dumped
from verifygate.performance.judgement import undecided
from verifygate.performance.measuring import Kept, compare, dropped, planned
from verifygate.process.subject import Subject
from verifygate.sources import git


@dataclass(frozen=True)
class Measured:
    """One run of the protocol, when it was, and the files that it rests on."""

    comparison: Comparison
    files: dict[str, str]
    """Path below the root -> sha256."""
    commit: str
    began: dt.datetime
    ended: dt.datetime

    @property
    def complete(self) -> bool:
        """Whether the arms ran to an end that says something: to their own, or out of memory."""
        pair = (self.comparison.base, self.comparison.judged)
        return all(arm.host and (not arm.failure or arm.failure.trouble is Trouble.MEMORY) for arm in pair)


def silent(_text: str) -> None:
    """A job on another machine has no terminal."""


def measure(
    subject: Subject, settings: Settings, progress: Callable[[str], None] = silent, kept: Kept = dropped
) -> Measured:
    """Run the protocol; `kept` is given what there is after each training and round.

    Raises UsageError where a file that it rests on changed meanwhile: whose figures are they?
    """
    root, performance = settings.root, settings.performance
    module = planned(performance).module
    before = subjects(root, module, performance.records.files)
    began = dt.datetime.now(dt.UTC)
    comparison = compare(subject, performance, progress, lambda so_far: undecided(so_far, performance), kept)
    ended = dt.datetime.now(dt.UTC)
    seen = own_files(root, (name for arm in comparison.arms for name in arm.files))
    after = subjects(root, module, performance.records.files, seen)
    if changed := sorted(name for name in before if after.get(name) != before[name]):
        remedy = "leave the files alone while they are measured"
        raise UsageError("it changed during the measurement", where=changed[0], remedy=remedy)
    return Measured(comparison, after, git.describe(root, sorted(after)), began, ended)


def record_of(measured: Measured) -> Statement:
    """The record of a measurement."""
    predicate = Predicate(
        tool=f"verifygate {__version__}",
        nonce=secrets.token_hex(16),
        commit=measured.commit,
        started=measured.began,
        finished=measured.ended,
        comparison=dumped(measured.comparison),
        figures=figures(measured.comparison),
    )
    return stated(measured.files, predicate)


def file_name(measured: Measured) -> str:
    """A name for the record, after the device: `nvidia-h100-80gb-hbm3.json`."""
    return re.sub(r"[^a-z0-9]+", "-", device_of(measured.comparison).lower()).strip("-") + ".json"
