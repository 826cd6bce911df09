"""Run the rules over files that may run together: pick, analyse, match, suppress, and account for every file."""

from __future__ import annotations

import ast
import warnings
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from itertools import chain
from types import MappingProxyType

from verifygate.base.cpu_time import OFF, Timings
from verifygate.base.errors import UsageError
from verifygate.base.failures import contained, room_for_nesting, words_of
from verifygate.base.garbage import collection_paused
from verifygate.base.records import record, replace
from verifygate.config.rule_selection import RuleSelection, ignoring_pattern
from verifygate.configured_precision.setting import OWN, Setting
from verifygate.model import (
    Certainty,
    Detail,
    Finding,
    NotAnalysed,
    NotFollowed,
    PathStep,
    Place,
    Suppression,
    Witness,
)
from verifygate.model.finding import SETTLED_BY
from verifygate.model.fingerprint import Fingerprints
from verifygate.model.precision_contract import PrecisionContract
from verifygate.rule_codes import READ_OFF_ABSTRACT_RUNS
from verifygate.sources import suppressions
from verifygate.sources.configuration_file import SUFFIXES
from verifygate.sources.file import SourceUnreadableError
from verifygate.sources.notebook import NotebookFile
from verifygate.sources.tree import Sources
from verifygate.static.analysis import Analysis
from verifygate.static.analysis_result import AnalysisResult, each_once
from verifygate.static.causes import agreeing, one_per_cause, told_once
from verifygate.static.contract.build import precision_contract
from verifygate.static.contract.byte_facts import byte_facts
from verifygate.static.failures import gave_up, place_of
from verifygate.static.idioms.configured_faults import of_drivers
from verifygate.static.idioms.half_weights import ABOUT_WEIGHTS, WEIGHTS
from verifygate.static.idioms.key_guards import is_expected_to_fail as expected
from verifygate.static.inventory import constructs, unfollowed
from verifygate.static.paths.settling import Settling
from verifygate.static.prefilter import Prefilter
from verifygate.static.registry import chosen, load_rules, too_new
from verifygate.static.rule import ConfigurationMatch, LoadedRule, Match, Rule
from verifygate.static.silencing import suppressed
from verifygate.static.symbols.location import Location
from verifygate.static.symbols.program import Program
from verifygate.static.syntax.evaluated_text import text_that_is_run
from verifygate.static.syntax.parser import UnparsableError

Matches = list[tuple[LoadedRule, Match | ConfigurationMatch]]

SYNTAX_CHECK_BYTES = 1024 * 1024
"""What rules do not look at is still parsed, to tell broken files, as long as all these files are below this."""

RECURSION_LIMIT = 30_000
ODD_LETTERS = "names of AMP are written in letters that Python reads as plain ones: write them plainly"


@record
class Task:
    """What is asked about some sources, whichever part of them is looked at."""

    settings: RuleSelection
    with_constructs: bool = True
    lets_go: bool = False
    """Of the text of the sources, only what is looked at is held."""
    merged: bool = True
    """One finding for each cause; otherwise each location is a finding of its own."""
    known_as: Mapping[str, str] = MappingProxyType({})
    """Files that were renamed later -> the path under which their findings have their fingerprints."""
    parses_the_rest: bool = True
    """Parse what rules do not look at, to tell broken files, as long as all these files are small."""
    among_amp: bool = False
    """Whether files outside of the part mention AMP."""

    def rules(self) -> tuple[dict[str, LoadedRule], dict[str, LoadedRule]]:
        """The rules that are asked for, and those among them that can run. Raises UsageError where none can."""
        asked = chosen(self.settings.select, self.settings.ignore)
        versions = self.settings.torch_versions
        loaded = {code: each for code, each in asked.items() if not all(too_new(each, version) for version in versions)}
        if not loaded:
            raise UsageError(
                f"no rule is left to run: {', '.join(asked)} needs a newer torch than {' and '.join(versions)}",
                remedy="widen what is selected, or raise `torch_version` in [static]",
            )
        return asked, loaded

    def applies(self, code: str, path: str) -> bool:
        """Whether a rule that runs is about what a file may run on."""
        return not too_new(load_rules()[code], self.settings.torch_for(path))


def analyse_part(sources: Sources, task: Task, timings: Timings = OFF) -> AnalysisResult:
    """Analyse files that may run together.

    A fault of our own costs the rule that it is in, or the file at which everything else broke: that is told, and what
    was lost is no PASS. Raises UsageError where a file that was let go of has changed when it is asked for.
    """
    try:
        return _analysed(sources, task, timings)
    except Exception as error:
        place = place_of(contained(error))
        if place is None or sources.get(place[0]) is None:
            raise
        reason = f"the analysis broke at it, which is a fault of verifygate's own: {words_of(error)}"
        rest = [file for file in sources if file.path != place[0]]
        left = Sources(rest, (*sources.unreadable, (place[0], reason)), sources.configuration, sources.links)
        return analyse_part(left, task, timings)


def _analysed(sources: Sources, task: Task, timings: Timings) -> AnalysisResult:
    asked, loaded = task.rules()
    with warnings.catch_warnings(), room_for_nesting(RECURSION_LIMIT), collection_paused():
        warnings.simplefilter("ignore")  # the audited code's own SyntaxWarnings are no business of the gate
        with timings.part("pick files"):
            picker = Prefilter(sources, load_rules().values())
        analysis = _analysis(picker, sources, timings, task.settings.frameworks_for)
        written = [each for file in sources for each in suppressions.directives(file, tuple(load_rules()))]
        with timings.part("precision contract"):
            scanned = byte_facts(sources)
        if task.lets_go:
            analysis.configuration.settings  # noqa: B018 - read now, while the text of the sources is held
            with timings.part("let go of what rules do not look at"):
                analysis.program.let_go()
        matches, broken, analysis = _matches(loaded, analysis, timings)
        matches, contract_of, unseen = _with_abstract_run(matches, loaded, analysis, task, timings)
        matches = [(rule, match) for rule, match in matches if task.applies(rule.rule.code, match.place.path)]
        lacking = {each.rule for each in broken} | (analysis.decided_by_order if analysis.broken else set())
        broken += analysis.broken
        causes: dict[str, Hashable] = {}
        found = sorted(_findings(matches, sources, causes, task.known_as), key=lambda finding: finding.order)
        open_yet = READ_OFF_ABSTRACT_RUNS if unseen or not task.settings.abstract_run else ()
        kept, silenced, idle, problems = suppressed(
            found, written, lambda code, path: code in loaded and code not in open_yet and task.applies(code, path)
        )
        kept, switched_off = _switch_off(kept, task.settings)
        silenced += switched_off
        kept = _once(kept, sources)
        kept = agreeing(kept, causes)
        if task.merged:
            kept = told_once(one_per_cause(kept, causes, sources))
        with timings.part("precision contract"):
            contract = contract_of(precision_contract(analysis, scanned, among_amp=task.among_amp))
        open_calls = unfollowed(analysis) if task.with_constructs else ()
        with timings.part("parse what rules do not look at"):
            lost = (*_not_analysed(sources, analysis, task), *_given_up(broken))
        return AnalysisResult(
            files_checked=_checked(sources, {each.path for each in lost}),
            findings=tuple(sorted([*kept, *problems], key=lambda finding: finding.order)),
            suppressions=tuple(silenced),
            idle_suppressions=tuple(idle),
            not_analysed=lost,
            not_followed=each_once([*_open(analysis, kept), *contract.not_judged, *open_calls, *broken, *unseen]),
            constructs=constructs(analysis) if task.with_constructs else (),
            contract=contract,
            rules=tuple(loaded),
            idle=tuple(
                code for code, each in loaded.items() if code in picker.idle and not _has_settings(each, analysis)
            ),
            gave_up=tuple(code for code in loaded if code in lacking),
            too_new=tuple(code for code in asked if code not in loaded),
        )


def _has_settings(rule: LoadedRule, analysis: Analysis) -> bool:
    """Whether a rule judges a configuration here: its settings, or by the table of the framework that trains by it."""
    if any(rule.rule.code in each.framework.rules for each in analysis.configuration.drivers):
        return True
    return rule.rule.reads_configuration and any(each.framework != OWN for each in analysis.configuration.settings)


def _open(analysis: Analysis, kept: Iterable[Finding]) -> Iterator[NotFollowed]:
    """What the rules could not tell or search, but for casts of weights of which a finding says what comes of them."""
    told = {(WEIGHTS, each.path, each.line) for each in kept if each.rule.startswith(ABOUT_WEIGHTS)}
    told |= {(each.rule, each.path, each.line) for each in kept if each.rule in READ_OFF_ABSTRACT_RUNS}
    left = (each for each in analysis.not_followed if (each.rule, each.path, each.line) not in told)
    return chain(left, analysis.cut_short())


def _checked(sources: Sources, lost: set[str]) -> int:
    """How many files were analysed, each link to one among them."""
    return sum(path not in lost for path in (*(file.path for file in sources), *(link.twin for link in sources.links)))


def _analysis(
    picker: Prefilter, sources: Sources, timings: Timings, versions: Callable[[str], Mapping[str, str]]
) -> Analysis:
    """An analysis of AMP code and, where that matters, of what stands beside it.

    Both are picked by all rules: a selection must not change what one finds.
    """
    with timings.part("pick files"):
        program = Program(sources, picker.named(), timings)
        analysis = Analysis(program, timings, versions)
        beside = picker.beside(lambda rule: rule.looks_beside is None or rule.looks_beside(analysis))
        if not program.look_at(beside):
            return analysis
        analysis.evaluator.forget()
        return Analysis(program, timings, versions)


def _matches(
    loaded: dict[str, LoadedRule], analysis: Analysis, timings: Timings
) -> tuple[Matches, list[NotFollowed], Analysis]:
    """What each rule finds, but for what a test expects; which rules broke, and where; and an analysis that did not."""
    matches: Matches = []
    broken: list[NotFollowed] = []
    for code, rule in loaded.items():
        with timings.part(f"{code} {rule.rule.name}"):
            try:
                for match in (*rule.check(analysis), *of_drivers(code, analysis)):
                    if not _is_expected(match, analysis):
                        matches.append((rule, _at_most_likely(_settled(match, rule.rule, analysis), analysis)))
            except Exception as error:
                first = next(iter(analysis.program.picked), next(analysis.program.sources.paths, "."))
                broken.append(gave_up(error, first, f"{code} {rule.rule.name}", code))
                analysis = analysis.afresh()
    return matches, broken, analysis


def _with_abstract_run(
    matches: Matches, loaded: Mapping[str, LoadedRule], analysis: Analysis, task: Task, timings: Timings
) -> tuple[Matches, Callable[[PrecisionContract], PrecisionContract], tuple[NotFollowed, ...]]:
    """The matches with those of the abstract run, where it is asked for; the contract that agrees; what it left out."""
    if not task.settings.abstract_run:
        return matches, lambda contract: contract, ()
    with timings.part("abstract run"):
        from verifygate.static.abstract_run import abstract_run, joined  # a check without it does not load the machine
        from verifygate.static.machine.libraries import libraries_for

        seen = abstract_run(analysis, libraries_for(task.settings))
        if task.lets_go:
            analysis.program.let_go()  # it has looked for words in every file
        new = [
            (loaded[code], _at_most_likely(_settled(match, loaded[code].rule, analysis), analysis))
            for code, each in seen.matches.items()
            for match in (each if code in loaded else ())
            if not _is_expected(match, analysis)
        ]
        return joined(matches, new), seen.agreeing, seen.not_followed


def _given_up(broken: Iterable[NotFollowed]) -> Iterator[NotAnalysed]:
    """Files at which a rule broke, as files that were not analysed: nobody may take them for clean."""
    reasons = {each.path: each.reason for each in broken}
    return (NotAnalysed(path=path, reason=reason, mentions_amp=True) for path, reason in sorted(reasons.items()))


def _is_expected(match: Match | ConfigurationMatch, analysis: Analysis) -> bool:
    """Whether a test expects it: none expects anything of a file that is no source."""
    return isinstance(match, Match) and expected(match.place, analysis.enclosing)


def _settled(match: Match | ConfigurationMatch, rule: Rule, analysis: Analysis) -> Match | ConfigurationMatch:
    """The match with the run that would show it, where a run can, and nothing is known that would keep it from that."""
    if not isinstance(match, Match) or match.certain or match.assumes or Witness.RUN not in rule.witnesses:
        return match
    return replace(match, settling=analysis.located(Settling(by_run=True), match.place.function))


def _at_most_likely(match: Match | ConfigurationMatch, analysis: Analysis) -> Match | ConfigurationMatch:
    """The match, and likely where it, or a step that leads to it, stands behind a switch that is never on."""
    places = (each for each in (match.place, *(place for place, _ in match.steps)) if isinstance(each, Location))
    if match.certain and any(map(analysis.dead_switches.rule_out, places)):
        return replace(match, certain=False)
    return match


def _once(found: list[Finding], sources: Sources) -> list[Finding]:
    """Without what a link to a file repeats of that file; what only stands where the link lies remains."""
    there = {(each.path, each.rule, each.line, each.column) for each in found}
    return [
        each
        for each in found
        if (file := sources.get(each.path)) is None or (file.twin, each.rule, each.line, each.column) not in there
    ]


def _switch_off(found: list[Finding], settings: RuleSelection) -> tuple[list[Finding], list[Suppression]]:
    """Findings that stay, and those that `per_file_ignores` takes away: these are listed like any suppression."""
    kept: list[Finding] = []
    silenced: list[Suppression] = []
    for finding in found:
        pattern = ignoring_pattern(finding.path, finding.rule, finding.name, settings.per_file_ignores)
        if pattern is None:
            kept.append(finding)
            continue
        silenced.append(
            Suppression(
                path=finding.path,
                line=finding.line,
                rule=finding.rule,
                reason=f"per_file_ignores in the configuration: {pattern}",
                finding=f"{finding.path}:{finding.line} {finding.message}",
            )
        )
    return kept, silenced


def _findings(
    matches: Matches, sources: Sources, causes: dict[str, Hashable], known_as: Mapping[str, str]
) -> Iterable[Finding]:
    """A finding for each match. What causes several is noted under the fingerprint of each of them."""
    fingerprints = Fingerprints()
    for loaded, match in matches:
        rule, place = loaded.rule, match.place
        path, symbol, text = place.path, "", ""
        if isinstance(place, Location):
            symbol = place.function.written_in.symbol
            text = " ".join(ast.unparse(place.node).split()) if isinstance(place.node, ast.expr | ast.stmt) else ""
        else:
            text = place.key
        identity = fingerprints.next(rule.code, known_as.get(path, path), symbol, text)
        if match.cause is not None:
            causes[identity] = match.cause
        file = sources.get(path)
        yield Finding(
            rule=rule.code,
            name=rule.name,
            path=path,
            line=place.line,
            column=_column(sources, place),
            end_line=place.end_line,
            severity=match.severity or rule.severity,
            certainty=Certainty.CERTAIN if match.certain else Certainty.LIKELY,
            message=f"{file.place(place.line)}: {match.message}" if isinstance(file, NotebookFile) else match.message,
            fingerprint=identity,
            remedy=match.remedy or rule.remedy,
            steps=tuple(
                PathStep(path=step.path, line=step.line, text=f"{label}: {sources.line(step.path, step.line)}")
                for step, label in match.steps
            ),
            details=(*match.details, *_assumed(match, rule)),
            places=tuple(
                Place(path=each.path, line=each.line, end_line=each.end_line, text=sources.line(each.path, each.line))
                for each in match.places
            ),
            beside_amp=file is not None and not file.mentions_amp,
            snippet=sources.line(path, place.line),
            symbol=symbol,
            witnesses=(rule.witnesses[0],),
        )


def _assumed(match: Match | ConfigurationMatch, rule: Rule) -> tuple[Detail, ...]:
    """What keeps a match from being certain, and what would settle it, where that is known."""
    if match.certain:
        return ()
    assumed = (Detail(label="assumes", values=(match.assumes,)),) if match.assumes else ()
    run = match.settling.run if Witness.RUN in rule.witnesses else ""
    ways = tuple(filter(None, (match.settling.annotation, run and f"run {run}")))
    return (*assumed, Detail(label=SETTLED_BY, values=ways)) if ways else assumed


def _column(sources: Sources, place: Location | Setting) -> int:
    """The column in characters, as editors and SARIF count them: syntax trees count bytes of UTF-8."""
    file = sources.get(place.path)
    lines = file.lines if file is not None else []
    if not place.line <= len(lines):
        return place.column
    return len(lines[place.line - 1].encode()[: place.column - 1].decode("utf-8", "replace")) + 1


def _not_analysed(sources: Sources, analysis: Analysis, task: Task) -> Iterable[NotAnalysed]:
    """Every file that is no readable Python: none of them is ever silently clean."""
    reasons = dict(sources.unreadable) | {path: str(error) for path, error in analysis.program.failures.items()}
    rest = [file for file in sources if analysis.program.picked.get(file.path, ()) is not None]
    small = task.parses_the_rest and sum(file.size for file in rest) <= SYNTAX_CHECK_BYTES
    for file in rest:
        try:
            if small:
                analysis.program.parse_the_rest(file)
            elif not file.is_plain:
                file.text  # noqa: B018 - it tells why it is no text
        except (UnparsableError, SourceUnreadableError) as error:
            reasons.setdefault(file.path, str(error))
    readable = [file for file in sources if file.path not in reasons]
    running = [file for file in readable if not file.is_test and (file.mentions_amp or file.runs_encoded)]
    hidden = {file.path: reason for file in running if (reason := text_that_is_run(file))}
    hidden |= {file.path: ODD_LETTERS for file in readable if file.hides_amp}
    reasons |= hidden
    for path, reason in sorted(reasons.items()):
        found = sources.get(path)
        yield NotAnalysed(
            path=path,
            reason=reason,
            mentions_amp=found.mentions_amp or path in hidden if found else not path.endswith(SUFFIXES),
        )
