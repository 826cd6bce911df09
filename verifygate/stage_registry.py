"""The stages of the gate, in the order in which they run. A new stage is one package and one line of `STAGES`
(and a layer in the import contracts).

All that lists stages reads this table: the choices of `--stage`, the default weights, the models of `details` in
`report.json`, the pages of the report and the links to them, and what a requirement may refer to. It names objects by
`module:name`, so that reading the table imports no stage.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple


class StageEntry(NamedTuple):
    """One stage. The page of the report is the template `templates/NAME.md.j2` of the stage's package."""

    stage: str
    """`package.module:Class` that runs it, a `verifygate.stage.Stage`."""
    details: str
    """`module:Model` of its part of `report.json`, a subclass of `StageDetails`."""
    weight: int
    """Its default share of the score."""
    page: str = "verifygate.report.pages.page:StagePage"
    """`module:Class` that its template calls as `page`, a subclass of `StagePage`."""
    evidence: str = ""
    """The evidence class of its checks where they cite nothing of their own; empty where no requirement may refer to
    them."""

    @property
    def package(self) -> str:
        return self.stage.partition(":")[0].rpartition(".")[0]


STAGES = {
    "execution": StageEntry(
        stage="verifygate.execution.stage:ExecutionStage",
        details="verifygate.model.execution_details:ExecutionDetails",
        weight=30,
        page="verifygate.report.pages.execution_page:ExecutionPage",
        evidence="executed",
    ),
    "static": StageEntry(
        stage="verifygate.static.stage:StaticStage",
        details="verifygate.model.static_details:StaticDetails",
        weight=30,
        page="verifygate.report.pages.static_page:StaticPage",
        evidence="static",
    ),
    "performance": StageEntry(
        stage="verifygate.performance.stage:PerformanceStage",
        details="verifygate.model.performance_details:PerformanceDetails",
        weight=15,
        page="verifygate.report.pages.performance_page:PerformancePage",
        evidence="measured",
    ),
    "security": StageEntry(
        stage="verifygate.security.stage:SecurityStage",
        details="verifygate.model.security_details:SecurityDetails",
        weight=5,
        evidence="static",
    ),
    "requirements": StageEntry(
        stage="verifygate.requirements.stage:RequirementsStage",
        details="verifygate.model.requirements_details:RequirementsDetails",
        weight=25,
        page="verifygate.report.pages.requirements_page:RequirementsPage",
    ),
}
"""Requirements come last, because they refer to the evidence of all others."""


def by_weight() -> Mapping[str, StageEntry]:
    """The stages as people list them: those with the greatest default weight first."""
    return dict(sorted(STAGES.items(), key=lambda item: -item[1].weight))


def default_weights() -> dict[str, int]:
    return {name: entry.weight for name, entry in by_weight().items()}


def template_folders() -> Iterable[Path]:
    """Where the templates of the stages' pages are."""
    for entry in STAGES.values():
        spec = find_spec(entry.package)
        for folder in spec.submodule_search_locations or () if spec else ():
            yield Path(folder) / "templates"
