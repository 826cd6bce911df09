"""Programs that train, where nobody named one: started if `--entries found` asks for it, else only told."""

from __future__ import annotations

from collections.abc import Callable

from verifygate.base.errors import UsageError
from verifygate.config.settings import Settings
from verifygate.model import Program, Report
from verifygate.programs import found_functions, found_programs
from verifygate.report.view import View
from verifygate.sources.tree import Sources


def settings_with_found(settings: Settings, sources: Sources) -> tuple[Settings, tuple[Program, ...]]:
    """The settings with the best program that can run as their entry, and all programs that were found.

    Raises UsageError where entries are configured, and where no program was found that can run as it stands.
    """
    if settings.execution.oracles.commands:
        raise UsageError(
            "entries are configured already",
            where=settings.place("execution", "oracles") or "--entries",
            remedy="leave `--entries found` out, or the entries",
        )
    found = found_programs(sources, settings.root)
    best = next((each for each in found if each.runs), None)
    if best is None:
        first = found[0] if found else None
        problem = f"the best is `{first.command}`: {'; '.join(first.obstacles)}" if first else "none was found at all"
        raise UsageError(
            f"no program was found that trains and can run as it stands; {problem}",
            where="--entries",
            remedy="name one, with what it needs, in `[execution.oracles] entries` or `emulated_entries`",
        )
    return settings.with_program(best), found


def with_programs_told(report: Report, settings: Settings, sources: Sources, progress: Callable[[str], None]) -> Report:
    """The report with the programs that could be run, where no training step was executed and no entry is named."""
    if settings.execution.oracles.commands or not View(report).untrained:
        return report
    progress("looking for programs that train")
    if found := found_programs(sources, settings.root):
        return report.model_copy(update={"programs": found})
    return report.model_copy(update={"training_functions": found_functions(sources)})
