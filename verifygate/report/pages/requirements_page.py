"""What the page of the requirements stage shows."""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup

from verifygate.model import Calculation, Link, LinkState, QualityGate, RequirementResult, Status
from verifygate.report import escape
from verifygate.report.pages.page import StagePage
from verifygate.report.quantities import number, spread

_GROUPS = {"business": "Business rules", "edge-case": "Domain edge cases", "data-integrity": "Data integrity"}


class RequirementsPage(StagePage):
    """The trace matrix: requirements with their answers, links and calculations."""

    def with_status(self, requirements: Sequence[RequirementResult], status: str) -> list[RequirementResult]:
        return [requirement for requirement in requirements if requirement.status == status]

    @property
    def groups(self) -> list[tuple[str, list[RequirementResult]]]:
        """The groups that have a name of their own, as far as they occur."""
        every = self.requirements.requirements
        found = [(title, [each for each in every if each.group == group]) for group, title in _GROUPS.items()]
        return [(title, group) for title, group in found if group]

    @property
    def told_as_requirements(self) -> set[str]:
        """Ids of the checks that are requirements: the page tells each under its own id."""
        return {f"requirements.{requirement.id}" for requirement in self.requirements.requirements}

    @property
    def gates_to_read(self) -> list[QualityGate]:
        return [gate for gate in self.requirements.gates if gate.status is not Status.PASS]

    @property
    def traced(self) -> list[RequirementResult]:
        """The gaps that something is linked to."""
        return [each for each in self.gaps if self.linked(each) or each.code or each.tests or each.measurements]

    def linked(self, requirement: RequirementResult) -> list[Link]:
        """The code that a mark or a construct links to it."""
        return [link for link in requirement.links if link.role == "code" and link.by]

    @property
    def has_doubts(self) -> bool:
        """Whether there is something to say of the accepted evidence."""
        told = self.requirements.coverage
        return bool(self.suspect or self.moved or told.not_accepted or told.accepted_here or told.dropped)

    @property
    def gaps(self) -> list[RequirementResult]:
        settled = (Status.PASS, Status.NOT_APPLICABLE)
        return [requirement for requirement in self.requirements.requirements if requirement.status not in settled]

    @property
    def suspect(self) -> list[RequirementResult]:
        return [requirement for requirement in self.requirements.requirements if requirement.suspect]

    @property
    def moved(self) -> list[Link]:
        every = (link for requirement in self.requirements.requirements for link in requirement.links)
        return [link for link in every if link.state is LinkState.MOVED]

    def answers(self, requirement: RequirementResult) -> Markup:
        """Every query with its answer and its evidence, one on a line."""
        rows = (
            f"{self.status(query.status)} {escape.md_prose(query.query)}: {escape.md_prose(query.actual)}"
            + (f"<br>{self.proof(query.evidence)}" if query.evidence else "")
            for query in requirement.queries
        )
        return Markup("<br>".join(rows) or "none")  # noqa: S704

    def code_links(self, requirement: RequirementResult) -> Markup:
        """The linked symbols with what links them; then the functions that its tests go through, counted.

        A report from before there were links has `path:line symbol`, shown as a link to the line.
        """
        linked = self.linked(requirement)
        if not linked:
            return Markup("<br>".join(self._code_link(code) for code in requirement.code) or "none")  # noqa: S704
        shown = [self._linked(link) for link in linked]
        executed = len(set(requirement.code) - {code for code in requirement.code if self._is_linked(code, linked)})
        if executed:
            shown.append(escape.md_text(f"and {executed} more that its tests execute"))
        return Markup("<br>".join(shown))  # noqa: S704

    def _linked(self, link: Link) -> str:
        name = link.symbol.rpartition("::")[2]
        loud = f" **{link.state.value}**" if link.state.is_suspect else ""
        return f"{self.link(link.path, link.line)} {escape.md_code(name)} ({escape.md_text(', '.join(link.by))}){loud}"

    def _is_linked(self, code: str, links: Sequence[Link]) -> bool:
        path, _, line = code.partition(" ")[0].rpartition(":")
        return line.isdecimal() and any(link.path == path and link.line <= int(line) <= link.end_line for link in links)

    def _code_link(self, code: str) -> str:
        place, _, symbol = code.partition(" ")
        path, _, line = place.rpartition(":")
        if not path or not line.isdecimal():
            return escape.md_code(code)
        return f"{self.link(path, int(line))} {escape.md_code(symbol)}".strip()

    def measured(self, ids: Sequence[str]) -> Markup:
        """Each measurement's id with its number."""
        readings = (f"{escape.md_code(m)} {escape.md_prose(self.reading_of(m) or 'not in this report')}" for m in ids)
        return Markup("<br>".join(readings) or "none")  # noqa: S704

    def calculated(self, calculation: Calculation) -> str:
        """The value as it was reported, and as the samples give it."""
        told = self.reading_of(calculation.measurement)
        if told and calculation.recomputed is not None:
            told += f"; from the samples: {number(calculation.recomputed)}"
        failed = calculation.status is Status.FAIL and calculation.reason
        return (f"{told}; {calculation.reason}" if told and failed else told) or calculation.reason or "nothing"

    def inputs(self, calculation: Calculation) -> str:
        """How many samples there are, and the median of each arm."""
        found = self._measurements.get(calculation.measurement or "")
        medians = [f"{arm.name} {spread(arm)[1]} {arm.unit}" for arm in found.arms if arm.samples] if found else []
        return f"{calculation.inputs}; medians: {', '.join(medians)}" if medians else calculation.inputs
