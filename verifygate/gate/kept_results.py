"""Results of stages that run the project's code, kept while nothing that the code can read has changed.

Kept is what passed, of processes that were hermetic: `process/visible.py` says what those can read. A time that was
measured on an accelerator is never kept. A kept result says when it was found, and lasts to the end of that day.
"""

from __future__ import annotations

import datetime as dt
import hashlib
import os
import sys
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from pydantic import ValidationError

import verifygate
from verifygate.base import answer_store
from verifygate.base.cache_folder import cache_folder
from verifygate.base.digests import digest_of
from verifygate.base.masking import masked_model
from verifygate.base.regular_files import MAX_ANSWER_BYTES, read_regular
from verifygate.model import Outcome, StageResult, Status
from verifygate.performance.judgement import NO_ACCELERATOR
from verifygate.process.isolation import Isolation, has_accelerator
from verifygate.process.visible import Visible, visible
from verifygate.stage import StageContext

RUN_CODE = frozenset(("execution", "performance"))
"""The stages that run the project's code."""
MOST = 40
"""Results that are kept."""
_CI = ("CI", "GITHUB_ACTIONS", "JENKINS_URL", "TEAMCITY_VERSION", "TF_BUILD")
"""Where one of these is set, a cache may be anybody's: nothing is kept there."""
_FORM = "result of a stage 1"
_WELL = (Status.PASS, Status.NOT_APPLICABLE)


@dataclass
class KeptResults:
    """The results that one run of the gate takes and leaves."""

    context: StageContext
    before: Visible
    fresh: bool
    """Whether none is taken."""
    note: Callable[[str], object]
    """Says what somebody has to know who waits for a kept result."""
    at: str
    """When the run began: UTC, ISO 8601."""
    keys: dict[str, str] = field(default_factory=dict)
    """Stage -> the key of its result."""

    @classmethod
    def of(
        cls,
        context: StageContext,
        guarded: Collection[Path],
        at: dt.datetime,
        note: Callable[[str], object],
        *,
        fresh: bool,
    ) -> KeptResults | None:
        """None where nothing is kept: a change is judged, in CI, the project's processes are not hermetic, or the store
        lies in the project, which must not bring its own verdict."""
        is_change = context.since or context.base or context.settings.policy_root is not None
        store = cache_folder()
        is_trusted = store is not None and not store.resolve().is_relative_to(context.settings.root.resolve())
        if is_change or not is_trusted or has_accelerator() or any(map(os.environ.get, _CI)):
            return None
        if context.subject.isolation != Isolation.HERMETIC:
            if context.settings.execution.hermetic and context.subject.isolation != Isolation.OFF:
                note("results are not kept: this machine does not grant every layer of isolation")
            return None
        for folder in guarded:  # it is there after this run: whoever looks what there is sees it now
            folder.mkdir(parents=True, exist_ok=True)
        before = visible(context.subject)
        if before.unknown:
            note(f"results are not kept: {before.unknown}")
            return None
        return cls(context, before, fresh, note, at.isoformat(timespec="seconds"))

    def taken(self, stage: str, results: Mapping[str, StageResult]) -> StageResult | None:
        """The result that was kept of a stage, if nothing it rests on has changed since."""
        if stage not in RUN_CODE:
            return None
        self.keys[stage] = key = self._key(stage, results)
        if self.fresh:
            answer_store.drop(key, answer_store.RUNS)  # if it fails now, or is ended, the next run must not say PASS
            return None

        def doubt(why: str) -> None:
            self.note(f"{stage}: the kept result is not used: {why}")

        known = answer_store.recall(key, answer_store.RUNS, doubt)
        if known is None:
            return None
        try:
            text, at = known.out
            result = StageResult.model_validate_json(text)
            since = dt.datetime.fromisoformat(at)
        except (ValidationError, ValueError):
            doubt("it is not one that this version writes")
            return None
        if result.stage != stage or not passed(result):
            doubt("it is none of a stage that passed")
            return None
        del self.keys[stage]
        return result.model_copy(update={"kept": since.isoformat(timespec="seconds")})

    def keep(self, results: Mapping[str, StageResult]) -> None:
        """Keep what passed, if nothing that it may have read changed meanwhile."""
        new = [stage for stage in self.keys if stage in results and passed(results[stage])]
        if not new:
            return
        if changed := self.before.changed_until(visible(self.context.subject)):
            self.note(f"results are not kept: {changed}")
            return
        for stage in new:
            text = masked_model(results[stage]).model_dump_json()
            output = answer_store.CheckOutput((text, self.at), 0)
            answer_store.keep(self.keys[stage], output, answer_store.RUNS, MOST)

    def _key(self, stage: str, results: Mapping[str, StageResult]) -> str:
        """The digest of all that a stage's result rests on."""
        static = results.get("static")
        parts = (
            _FORM,
            stage,
            self.before.digest(),
            program(),
            self.context.settings.digest,
            self.context.settings.today.isoformat(),
            self.context.sources.digest,
            *(repr(finding) for finding in (static.findings if static else ())),
        )
        return digest_of("\0".join(parts))


def passed(result: StageResult) -> bool:
    """Whether a result is one to keep: nothing failed or is flaky, and what is not measured has no device here."""
    if result.outcome is not Outcome.COMPLETED or result.findings:
        return False
    if result.stage == "performance" and result.environment.get("device") != "cpu":
        return False
    return all(
        check.status in _WELL
        or (check.status is not Status.FAIL and not check.required)
        or (check.status is Status.NOT_MEASURED and check.actual.startswith(NO_ACCELERATOR))
        for check in result.checks
    )


def program() -> str:
    """The digest of the gate itself, and of its interpreter's and packages' versions, wherever those are installed."""
    packages = sorted(found.name for place in sys.path for found in Path(place).glob("*.dist-info"))
    whole, top = hashlib.sha256(repr((sys.version, packages)).encode()), Path(verifygate.__file__).parent
    for path in sorted(top.rglob("*")):
        if path.is_file() and "__pycache__" not in path.parts:
            data = read_regular(path, MAX_ANSWER_BYTES)
            whole.update(b"%s\0%d\0%s" % (os.fsencode(path.relative_to(top)), len(data), data))
    return whole.hexdigest()
