"""The contract of a rule: a record that says what it is, and a function that says where it is broken."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Hashable, Iterable
from typing import TYPE_CHECKING

from verifygate.base.records import record
from verifygate.configured_precision.setting import Setting
from verifygate.model import Applicability, Detail, Severity, Witness
from verifygate.protocol import Violation
from verifygate.static.paths.settling import NOTHING_SETTLES, Settling
from verifygate.static.symbols.location import Location
from verifygate.static.syntax.names import last_name
from verifygate.torch_names import SHARPNESS_STEPS

if TYPE_CHECKING:
    from verifygate.static.analysis import Analysis
    from verifygate.static.paths.diagnosis import ViolationReport

TWO_STEPS_REMEDY = (
    "`first_step` and `second_step` each end a window: `unscale_`, take the step by hand only if all gradients are "
    "finite, then `update()`; leave out the second where the first was left out"
)
_OF_ONE_STEP = frozenset(
    {
        Violation.UNSCALE_TWICE,
        Violation.UNSCALE_MID_ACCUMULATION,
        Violation.STEP_BYPASSES_SCALER,
        Violation.MISSING_UPDATE,
        Violation.MISPLACED_UPDATE,
    }
)
"""Rules whose remedy takes it that one step uses the gradients of a window."""

_TITLE = r"(?m)^## (.+)$"


@record
class Match:
    """One place where a rule is broken."""

    place: Location
    message: str
    certain: bool = True
    steps: tuple[tuple[Location | Setting, str], ...] = ()
    details: tuple[Detail, ...] = ()
    remedy: str = ""
    """Overrides the rule's own, where this place asks for something else."""
    severity: Severity | None = None
    """Overrides the rule's own, where this place does more or less harm."""
    places: tuple[Location, ...] = ()
    """Further locations that are no findings by themselves: a suppression is written at `place`."""
    cause: Hashable = None
    """What is at fault. Matches of one rule with one cause become one finding, which lists the others' locations."""
    assumes: str = ""
    """What keeps it from being certain, where that is known."""
    settling: Settling = NOTHING_SETTLES
    """What would settle that."""


@record
class ConfigurationMatch:
    """One line of a file that configures a program, at which a rule is broken."""

    place: Setting
    message: str
    certain: bool = True
    steps: tuple[tuple[Location | Setting, str], ...] = ()
    remedy: str = ""
    severity: Severity | None = None
    details: tuple[Detail, ...] = ()
    places: tuple[Location, ...] = ()
    cause: Hashable = None
    assumes: str = ""
    settling: Settling = NOTHING_SETTLES


Checker = Callable[["Analysis"], Iterable[Match | ConfigurationMatch]]
Condition = Callable[["Analysis"], bool]


@record
class Rule:
    """What a rule is. Its documentation is the docstring of its module."""

    code: str
    name: str
    severity: Severity
    summary: str
    """One line for lists."""
    remedy: str
    """One sentence: what to write instead."""
    words: tuple[str, ...]
    """A file without any of these holds nothing for the rule: it need not be parsed."""
    beside: tuple[str, ...] = ()
    """Patterns: where any file has a word of these, files in which all of the patterns are found are looked at too.

    A rule without words goes by its patterns alone.
    """
    witnesses: tuple[Witness, ...] = (Witness.STATIC,)
    fix: Applicability | None = None
    torch: str = ""
    """The lowest torch version at which the rule makes sense, where it does not always."""
    proof: str = ""
    """The method that shows the harm on a CPU, one of verifygate.proof's; empty where there is none."""
    no_proof: str = ""
    """Why no run on a CPU can show it, where `proof` is empty."""
    reads_configuration: bool = False
    """Whether it judges files beside the sources by themselves: then there is something to look at without a source."""


@record
class LoadedRule:
    """A rule as found in its module."""

    rule: Rule
    check: Checker
    text: str
    """The docstring of its module."""
    module: str
    looks_beside: Condition | None = None
    """Whether what stands beside AMP code can matter, told from AMP code alone; it always does where there is none."""

    @property
    def docs(self) -> str:
        """Its documentation, in Markdown."""
        import inspect  # a check reads no documentation

        return inspect.cleandoc(self.text)

    @property
    def sections(self) -> dict[str, str]:
        """Title -> text of each section of the documentation."""
        return sections_of(self.docs)

    @property
    def impact(self) -> str:
        """What the violation does to a training, in one sentence, as reports tell it."""
        return " ".join(self.sections["Impact"].split())


def sections_of(docs: str) -> dict[str, str]:
    """Title -> text of each section of a documentation in Markdown."""
    parts = re.split(_TITLE, docs)
    return {title: text.strip() for title, text in zip(parts[1::2], parts[2::2], strict=True)}


@record
class ProtocolMatch:
    """The check of a rule that the protocol's table decides: each violation of it, with the rule's message.

    A rule that the table decides alone is its documentation, its `RULE`, and `check = ProtocolMatch(RULE, message)`.
    """

    rule: Rule
    message: str
    """`{text}` is the statement at fault."""

    def __call__(self, analysis: Analysis) -> Iterable[Match]:
        return (self.match(report) for report in analysis.violations(self.rule.code))

    def match(self, report: ViolationReport) -> Match:
        """One violation as a match of this rule."""
        message = self.message.format(text=statement_text(report.place))
        remedy = TWO_STEPS_REMEDY if self.rule.code in _OF_ONE_STEP and _takes_two_steps(report) else ""
        return Match(
            report.place,
            message,
            certain=report.certain,
            steps=report.path,
            remedy=remedy,
            assumes=report.assumes,
            settling=report.settling,
        )


def _takes_two_steps(report: ViolationReport) -> bool:
    """Whether one of the two steps of a sharpness-aware optimizer is on the path: its gradients are used twice."""
    nodes = [place.node for place, _ in (*report.path, (report.place, ""))]
    return any(isinstance(node, ast.Call) and last_name(node.func) in SHARPNESS_STEPS for node in nodes)


def statement_text(place: Location) -> str:
    """The source of a node on one line, cut short."""
    text = " ".join(ast.unparse(place.node).split())
    return text if len(text) <= 80 else text[:77] + "..."
