"""What of the project itself a run reads: configuration, sources, tests, specification, workload."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import PurePosixPath

from verifygate.base.counts import counted
from verifygate.base.errors import UsageError
from verifygate.config.locate import CONFIG_NAME
from verifygate.config.settings import Settings
from verifygate.configured_precision.drivers import Drivers
from verifygate.doctor.answer import Answer, State
from verifygate.execution.collected_tests import PytestConfig
from verifygate.programs import found_programs
from verifygate.sources.discovery import read_sources
from verifygate.sources.file import SourceUnreadableError
from verifygate.sources.tree import Sources

MOST_NESTED = 3
_IMPORT = re.compile(r"(?m)^(?:from|import)[ \t]+([A-Za-z_]\w*)")


def configuration(settings: Settings) -> Answer:
    if settings.config:
        return Answer("configuration", State.OK, settings.config)
    return Answer("configuration", State.OK, "none: what a run needs is discovered", "`verifygate init` writes one")


def sources(settings: Settings) -> tuple[Answer, Sources]:
    """Whether there is anything to audit, and whether any of it is about AMP."""
    try:
        found = read_sources(settings.root, settings.sources, settings.exclusion)
    except UsageError as error:
        return Answer("sources", State.FAILED, f"{error.where}: {error.problem}", error.remedy or ""), Sources(())
    amp = sum(file.mentions_amp for file in found)
    number = counted(len(found.files), "Python file")
    if not amp and (trained_by := Drivers.of(found).all()):
        first, more = trained_by[0], len({each.path for each in trained_by}) - 1
        told = f"{number}; {first.framework.name} trains by {first.path}{f' and {more} more files' if more else ''}"
        return Answer("sources", State.OK, told), found
    if not found.files:
        remedy = "name the sources in `[project] sources`, or go to the project's folder"
        return Answer("sources", State.FAILED, "no Python file to audit", remedy), found
    if not amp:
        return Answer("sources", State.NOTE, f"{number}, none about AMP", "are these the sources that train?"), found
    return Answer("sources", State.OK, f"{number}, {amp} about AMP"), found


def nested(settings: Settings, found: Sources) -> Iterator[Answer]:
    """Configurations in the folders of the sources: each holds where a command runs in its folder, and not here."""
    folders = {str(folder) for file in found for folder in PurePosixPath(file.path).parents} - {"."}
    inner = [f"{each}/{CONFIG_NAME}" for each in sorted(folders) if (settings.root / each / CONFIG_NAME).is_file()]
    if inner:
        more = f" and {len(inner) - MOST_NESTED} more" if len(inner) > MOST_NESTED else ""
        told = f"{', '.join(inner[:MOST_NESTED])}{more}: in force for what runs in its folder, and not here"
        yield Answer("nested", State.NOTE, told)


def tests(chosen: tuple[str, ...], config: PytestConfig, *, expected: bool) -> Answer:
    """What pytest will be given."""
    if not expected:
        return Answer("tests", State.OK, "none: `[execution] tests = false`")
    if not chosen:
        return Answer(
            "tests",
            State.NOTE,
            "none found",
            "add tests, or name them in `[execution] pytest`; or say so: `tests = false`",
        )
    where = f" ({config.file} configures pytest)" if config.file else ""
    return Answer("tests", State.OK, f"pytest {' '.join(chosen)}{where}")


def module_path(settings: Settings, config: PytestConfig) -> Iterator[Answer]:
    """The folders that pytest's configuration puts on the module path, beside the root."""
    absent = [each for each in config.pythonpath if not (settings.root / each).is_dir()]
    shown = ", ".join(config.pythonpath)
    if absent:
        remedy = f"correct `pythonpath` in {config.file}"
        yield Answer("pythonpath", State.FAILED, f"{', '.join(absent)} is no folder", remedy)
    elif config.pythonpath:
        yield Answer("pythonpath", State.OK, f"the root, and {shown} ({config.file})")
    else:
        yield Answer("pythonpath", State.OK, "the root")


def training(settings: Settings, found: Sources) -> Answer:
    """The programs that the oracles run; where none is named, the best that the source offers."""
    if commands := settings.execution.oracles.commands:
        return Answer("training", State.OK, "; ".join(commands))
    programs = found_programs(found, settings.root)
    if not programs:
        return Answer("training", State.NOTE, "no entry is named, and no program that trains was found")
    best = programs[0]
    lacks = f" ({'; '.join(best.obstacles)})" if best.obstacles else ""
    remedy = f"name it in `[execution.oracles] {best.setting}`; `verifygate init` writes it"
    return Answer("training", State.NOTE, f"no entry is named; `{best.command}` trains{lacks}", remedy)


def further_stages(settings: Settings) -> Iterator[Answer]:
    """The stages that have to be configured."""
    if spec := settings.requirements.spec:
        yield Answer("requirements", State.OK, spec)
    else:
        remedy = "`verifygate init` writes a first specification; `verifygate docs requirements` explains it"
        yield Answer("requirements", State.NOTE, "no specification: nothing is traced", remedy)
    if workload := settings.performance.workload:
        yield Answer("performance", State.OK, workload)
    else:
        remedy = "name one in `[performance] workload`; `verifygate docs performance` explains it"
        yield Answer("performance", State.NOTE, "no workload: nothing is measured", remedy)


def imported(found: Sources) -> dict[str, str]:
    """Top-level modules that the sources import without a guard, each with the first file that does."""
    names: dict[str, str] = {}
    for file in found:
        try:
            text = file.text
        except SourceUnreadableError:
            continue
        for each in _IMPORT.findall(text):
            names.setdefault(each, file.path)
    return names
