"""Analyse sources part by part: programs that cannot run together are independent of one another.

A small project is one part. A tree of 16 MiB and more is taken apart: each part is analysed and let go of, by this
process or another, or recalled where nothing of it has changed. What is said of it depends on none of that.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Protocol

from verifygate.base.cpu_time import OFF, Timings
from verifygate.base.forked import can_fork, each_in_a_process
from verifygate.base.records import record, replace
from verifygate.config.rule_selection import RuleSelection
from verifygate.configured_precision.drivers import Drivers
from verifygate.sources.linked_files import one_of_each
from verifygate.sources.tree import Sources
from verifygate.static.analysis_result import AnalysisResult, each_once, together
from verifygate.static.independent_programs import parts_of
from verifygate.static.part_analysis import Task, analyse_part
from verifygate.static.unanalysed_files import with_what_may_train

if TYPE_CHECKING:
    from verifygate.config.settings import StaticSettings

PAYS_BYTES = 1024 * 1024
"""How much of the sources has to be left to analyse before a second process at a time pays."""


class Kept(Protocol):
    """Results of parts that were analysed before."""

    def key(self, part: Sources, task: Task) -> str:
        """What the result is known by. It is asked for before the analysis: a file may change during it."""
        ...

    def recall(self, key: str) -> AnalysisResult | None:
        """The result of that key; None where none is known."""
        ...

    def keep(self, key: str, result: AnalysisResult) -> None:
        """Keep a result."""
        ...


@record
class Means:
    """How an analysis goes about its work: the answer does not depend on it."""

    jobs: int | None = None
    """At most so many processes, each for one part; 0 for as many as there are cores. None: all in this process."""
    kept: Kept | None = None
    timings: Timings = OFF
    lets_go: bool = False
    """Of large sources, only what is looked at is held."""


def analyse(
    sources: Sources,
    settings: StaticSettings | RuleSelection,
    *,
    with_constructs: bool = True,
    merged: bool = True,
    known_as: Mapping[str, str] = MappingProxyType({}),
    about: Callable[[str], bool] | None = None,
    means: Means = Means(),  # noqa: B008 - it is never changed
) -> AnalysisResult:
    """Analyse the files. A rule that breaks is listed, with the file at which it did.

    The list of constructs is for reports; whoever only wants findings saves it. Unless `merged`, each location is a
    finding of its own, whatever its cause. A file of `known_as` was renamed later: its findings have the fingerprints
    that they have under the path given there. Only files of which `about` is true, by path, and what may run together
    with them have to be looked at.
    Raises UsageError where a file that was let go of has changed when it is asked for.
    """
    sources = one_of_each(sources)
    selection = settings if isinstance(settings, RuleSelection) else settings.selection
    task = Task(selection, with_constructs, means.lets_go and sources.are_large, merged, known_as)
    task.rules()  # what cannot be asked is told before anything is looked at
    if not sources.are_large:
        return _complete(analyse_part(sources, task, means.timings), sources)
    with means.timings.part("take programs apart"):
        parts = parts_of(sources)
    amp = [any(file.mentions_amp for file in part) for part in parts]
    asked = [
        (part, replace(task, parses_the_rest=len(parts) == 1, among_amp=any(amp[:number] + amp[number + 1 :])))
        for number, part in enumerate(parts)
        if about is None or any(about(path) for path in part.paths)
    ]
    return _complete(together(list(_results(asked or [(parts[0], task)], means))), sources)


def _complete(result: AnalysisResult, sources: Sources) -> AnalysisResult:
    """The result, with what the whole tree tells of what could not be read."""
    drivers = Drivers.of(sources)
    return replace(
        result,
        not_analysed=with_what_may_train(result.not_analysed, sources, drivers),
        not_followed=each_once([*result.not_followed, *drivers.unread]) if drivers.unread else result.not_followed,
    )


def _results(asked: Sequence[tuple[Sources, Task]], means: Means) -> Iterator[AnalysisResult]:
    """The result of each part, in order."""
    with means.timings.part("recall what has not changed"):
        keys = [means.kept.key(*each) if means.kept is not None else "" for each in asked]
        known = [means.kept.recall(key) if means.kept is not None else None for key in keys]
    left = [each for each, result in zip(asked, known, strict=True) if result is None]
    made = iter(_analysed(left, means))
    for (part, _), key, result in zip(asked, keys, known, strict=True):
        if result is None:
            result = next(made)
            # what cannot be read today may be readable tomorrow, and there may be more memory then
            if means.kept is not None and not part.unreadable and not result.gave_up:
                means.kept.keep(key, result)
        yield result


def _analysed(left: Sequence[tuple[Sources, Task]], means: Means) -> Iterator[AnalysisResult]:
    if means.jobs is None or not can_fork():
        yield from (analyse_part(part, task, means.timings) for part, task in left)
        return
    size = sum(file.size for part, _ in left for file in part)
    jobs = means.jobs or (_cores() if size >= PAYS_BYTES else 1)
    with means.timings.part("wait for other processes"):
        yield from each_in_a_process([_Work(*each, means.timings) for each in left], jobs)


class _Work:
    """The analysis of a part, in another process or in this one."""

    def __init__(self, part: Sources, task: Task, timings: Timings) -> None:
        self._part = part
        self._task = task
        self._timings = timings
        self.size = sum(file.size for file in part)
        self.name = f"the analysis of {next(iter(part.paths), 'nothing')} and what runs with it"

    def there(self) -> tuple[AnalysisResult, dict[str, float]]:
        """The result, and the seconds that each part of the work took."""
        timings = Timings(on=self._timings.on)
        result = analyse_part(self._part, self._task, timings)
        return result, timings.spent()

    def here(self, told: tuple[AnalysisResult, dict[str, float]] | None) -> AnalysisResult:
        """What the other process has told; worked out here where it broke, so that this process says why."""
        if told is None:
            return analyse_part(self._part, self._task, self._timings)
        result, seconds = told
        self._timings.add(seconds)
        return result


def _cores() -> int:
    """The cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
