"""One analysis of a project: everything a rule may ask, worked out once and only when a rule asks."""

from __future__ import annotations

import ast
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from functools import cached_property, wraps
from typing import Any, Concatenate, ParamSpec, TypeVar

from verifygate.base.cpu_time import OFF, Timings
from verifygate.base.records import replace
from verifygate.config.version_pins import VersionRange, united
from verifygate.configured_precision.read import ConfiguredPrecision
from verifygate.framework_names import Framework
from verifygate.model import NotFollowed
from verifygate.rule_codes import Gap
from verifygate.static.amp.autocast_regions import Opens, WrittenRegions
from verifygate.static.amp.float8_regions import PACKAGE, Float8Regions
from verifygate.static.amp.named_contexts import CAPTURE_WORD, GRAPH_CAPTURES, NamedContexts
from verifygate.static.amp.roles import Roles, ScalerOrigin
from verifygate.static.amp.scaler_calls import ScalerCall, scaler_calls
from verifygate.static.amp.scalers import ScalerAllocation, scaler_allocations, some_scaler_is_on
from verifygate.static.conditions.constructed_objects import ConstructedObjects
from verifygate.static.conditions.dead_switches import DeadSwitches
from verifygate.static.conditions.path_conditions import PathConditions
from verifygate.static.facts.accelerators import Accelerators
from verifygate.static.facts.autograd_mode import AutogradMode
from verifygate.static.facts.checkpoints import Checkpoints
from verifygate.static.facts.condition_texts import ConditionTexts
from verifygate.static.facts.constants import Constants
from verifygate.static.facts.counted_evaluations import counted_evaluations
from verifygate.static.facts.cuda_conditions import CudaConditions
from verifygate.static.facts.cut_searches import CUT_SHORT, searched
from verifygate.static.facts.delegation import Delegation
from verifygate.static.facts.devices import Devices
from verifygate.static.facts.dict_keys import DictKeys
from verifygate.static.facts.dtype_values import DtypeValues
from verifygate.static.facts.framework_runs import FrameworkRuns
from verifygate.static.facts.frameworks import Frameworks
from verifygate.static.facts.hot_loops import HotLoop, HotLoops
from verifygate.static.facts.missing_methods import missing_methods
from verifygate.static.facts.module_dtypes import ModuleDtypes
from verifygate.static.facts.region_coverage import RegionCoverage
from verifygate.static.facts.region_dtypes import RegionDtypes
from verifygate.static.facts.scaler_regions import ScalerRegions
from verifygate.static.facts.setting_cases import SettingCases
from verifygate.static.facts.tensor_dtypes import TensorDtypes
from verifygate.static.facts.unfollowed_calls import unfollowed_calls
from verifygate.static.facts.unknown_scalers import unknown_scalers
from verifygate.static.paths.diagnosis import ViolationReport
from verifygate.static.paths.entry_points import EntryPoints
from verifygate.static.paths.settling import NOTHING_SETTLES, Settling, located
from verifygate.static.symbols.import_graph import ImportGraph
from verifygate.static.symbols.location import Location
from verifygate.static.symbols.program import Class, Function, Module, Node, Program
from verifygate.static.syntax.traversal import walk
from verifygate.static.values.call_graph import CallGraph, Site
from verifygate.static.values.evaluator import Evaluator

P = ParamSpec("P")
T = TypeVar("T")


class shared(cached_property[T]):  # noqa: N801 - used like cached_property
    """What several rules ask for, worked out for the first of them, and timed by itself."""

    def __get__(self, instance: object, owner: type | None = None) -> T:  # type: ignore[override]
        with instance.timings.part(f"for several rules: {str(self.attrname).strip('_').replace('_', ' ')}"):  # type: ignore[attr-defined]
            return super().__get__(instance, owner)


class Analysis:
    """What the rules see. `modules` are the files that were picked; others are parsed when imported."""

    def __init__(
        self, program: Program, timings: Timings = OFF, versions: Callable[[str], Mapping[str, str]] = lambda _: {}
    ) -> None:
        self.timings = timings
        self._versions = versions
        """Path of a file -> package of a framework -> the versions that the file may run with."""
        self.program = program
        self.modules = [module for path in program.picked if (module := program.module(path)) is not None]
        self.evaluator = Evaluator(self.program, self.modules)
        self.roles = Roles(self.evaluator)
        self.dict_keys = DictKeys(self.evaluator, self.modules)
        self.enclosing = self.roles.enclosing
        self.path_conditions = PathConditions(self.roles, self.enclosing)
        self.dead_switches = DeadSwitches(self.evaluator, self.path_conditions)
        self.constants = Constants(self.evaluator)
        self.tensor_dtypes = TensorDtypes(self.roles)
        self.not_followed: list[NotFollowed] = []
        self.broken: list[NotFollowed] = []
        """Entry points at which the exploration broke."""
        self.decided_by_order: set[str] = set()
        """The codes of the rules that asked for violations of the protocol."""
        self.answers: dict[Hashable, Any] = {}
        """What `memoised` functions have answered."""

    def afresh(self) -> Analysis:
        """The same analysis, with nothing worked out: what broke halfway must not be half known to other rules."""
        made = Analysis(self.program, self.timings, self._versions)
        made.not_followed, made.broken = self.not_followed, self.broken
        made.decided_by_order = self.decided_by_order
        return made

    def version_of(self, framework: Framework, path: str) -> VersionRange | None:
        """The versions of a framework that a file may run with; None where nothing is said of them."""
        versions = self._versions(path)
        return united(versions.get(package, "") for package in framework.packages)

    @shared
    def functions(self) -> list[Function]:
        """Every function of the picked modules, and the body of each module."""
        return [function for module in self.modules for function in module.all_functions]

    def of_kind(self, kind: type[Node]) -> Iterator[tuple[Node, Function]]:
        """Every node of a kind with the function to evaluate it in: in bodies, decorators, defaults, class bodies."""
        for module in self.modules:
            for function in module.all_functions:
                yield from ((node, function) for node in function.of_kind(kind))
            definitions: list[Function | Class] = [*module.functions.values(), *module.classes.values()]
            for definition in definitions:
                for given in _evaluated_at(definition.node):
                    yield from ((node, module.body) for node in walk(given) if isinstance(node, kind))
            for made in module.classes.values():
                yield from ((node, module.body) for node in made.own_nodes if isinstance(node, kind))

    @shared
    def calls(self) -> list[tuple[ast.Call, Function]]:
        """Every call in the picked modules."""
        return list(self.of_kind(ast.Call))

    @shared
    def hot_loops(self) -> HotLoops:
        """The loops that train or evaluate, and what runs in every iteration of them."""
        return HotLoops(self.roles, self.modules)

    @shared
    def counted_evaluations(self) -> list[HotLoop]:
        """The loops that evaluate a model over no loader."""
        return list(counted_evaluations(self.hot_loops, self.call_graph))

    @shared
    def autograd_mode(self) -> AutogradMode:
        """Where autograd is off."""
        return AutogradMode(self.hot_loops, self.call_graph)

    @shared
    def constructed_objects(self) -> ConstructedObjects:
        """What the objects that are constructed decide in their methods."""
        return ConstructedObjects(self.evaluator, self.path_conditions, self.call_graph)

    @shared
    def cuda_conditions(self) -> CudaConditions:
        """What runs only where CUDA is not there."""
        return CudaConditions(self.roles, self.path_conditions, self.call_graph)

    @shared
    def written_regions(self) -> WrittenRegions:
        """The autocast regions as they stand in the source."""
        return WrittenRegions(self.modules, self.roles)

    @shared
    def call_graph(self) -> CallGraph:
        """Who calls whom in the picked modules."""
        return CallGraph(self.evaluator, self.modules, self.import_graph)

    @shared
    def scaler_allocations(self) -> list[ScalerAllocation]:
        """Where the picked modules build scalers."""
        return scaler_allocations(self.evaluator, self.modules)

    @shared
    def some_scaler_is_on(self) -> bool:
        """Whether the picked modules build a scaler that is not off: most are not looked into to tell."""
        return some_scaler_is_on(self.evaluator, self.modules)

    @shared
    def checkpoints(self) -> Checkpoints:
        """Where optimizers' states are saved and loaded."""
        return Checkpoints(self.program.sources, self.roles, self.enclosing, self.functions)

    @shared
    def dtype_values(self) -> DtypeValues:
        """Which dtypes an expression may stand for."""
        return DtypeValues(self.roles, self.call_graph)

    @shared
    def region_dtypes(self) -> RegionDtypes:
        """Which dtypes a region may compute in."""
        return RegionDtypes(self.written_regions, self.dtype_values, self.devices)

    @shared
    def module_dtypes(self) -> ModuleDtypes:
        """Which dtypes the parameters of a module may be of."""
        given = self.framework_runs.receivers
        return ModuleDtypes(self.roles, self.dtype_values, self.call_graph, self.enclosing, given)

    @shared
    def setting_cases(self) -> SettingCases:
        """What dtypes and conditions come to for each word that a setting may be."""
        return SettingCases(self.roles, self.dtype_values, self.enclosing)

    @shared
    def condition_texts(self) -> ConditionTexts:
        """Branch conditions as texts, with the definitions of their names."""
        return ConditionTexts(self.roles, self.dtype_values, self.call_graph, self.enclosing)

    @shared
    def scaler_regions(self) -> ScalerRegions:
        """Which regions a scaler serves."""
        return ScalerRegions(self.written_regions, self.condition_texts, self.call_graph, self.import_graph)

    @shared
    def region_coverage(self) -> RegionCoverage:
        """Which functions run inside a region."""
        return RegionCoverage(
            self.roles, self.written_regions, self.call_graph, self.import_graph, self.enclosing, self.modules
        )

    @shared
    def float8_coverage(self) -> RegionCoverage:
        """Which functions run inside a region of Transformer Engine."""
        return self._coverage(PACKAGE, Float8Regions(self.evaluator).opened_by)

    @shared
    def graph_captures(self) -> RegionCoverage:
        """Which functions are captured into a CUDA graph."""
        return self._coverage(CAPTURE_WORD, NamedContexts(GRAPH_CAPTURES, self.evaluator).opened_by)

    def _coverage(self, word: str, opened_by: Opens) -> RegionCoverage:
        """The coverage of regions of one kind, which are looked for where any file has a word."""
        some = any(module.mentions(word.encode()) for module in self.modules)
        regions = WrittenRegions(self.modules if some else [], self.roles, opened_by)
        return RegionCoverage(self.roles, regions, self.call_graph, self.import_graph, self.enclosing, self.modules)

    @shared
    def configuration(self) -> ConfiguredPrecision:
        """What the files beside the sources set for the precision."""
        return ConfiguredPrecision(self.program.sources)

    @shared
    def delegation(self) -> Delegation:
        """Which modules a framework runs in float16."""
        return Delegation(self.evaluator, self.import_graph, self.modules)

    @shared
    def frameworks(self) -> Frameworks:
        """Which framework made an object, and which precision it was given."""
        return Frameworks(self.evaluator, self.import_graph, self.modules, self.configuration)

    @shared
    def framework_runs(self) -> FrameworkRuns:
        """What frameworks run, and the hooks that they enter."""
        return FrameworkRuns(self.frameworks)

    @shared
    def devices(self) -> Devices:
        """Which device types an expression may name."""
        return Devices(self.roles)

    @shared
    def accelerators(self) -> Accelerators:
        """Which regions may run on accelerators that their scaler is not for."""
        return Accelerators(self.scaler_regions, self.region_dtypes, self.program.sources)

    @shared
    def may_be_float16(self) -> bool:
        """Whether some region that is ever on may compute in float16, wherever it runs."""
        return self.region_dtypes.may_be_float16()

    @shared
    def scaler_calls(self) -> list[ScalerCall]:
        """The calls of scalers' methods in the picked modules."""
        return scaler_calls(self.functions, self.roles)

    @shared
    def scaler_calls_by_origin(self) -> dict[ScalerOrigin | None, list[ScalerCall]]:
        """What built a scaler -> the calls of its methods; None -> those of scalers of which that is not known."""
        found: dict[ScalerOrigin | None, list[ScalerCall]] = {}
        for each in self.scaler_calls:
            found.setdefault(each.scaler.origin if each.is_built else None, []).append(each)
        return found

    @shared
    def scaler_calls_in(self) -> dict[Function, list[ScalerCall]]:
        """Function -> the calls of scalers' methods that stand in it, in order: no key for one without any."""
        found: dict[Function, list[ScalerCall]] = {}
        for each in self.scaler_calls:
            found.setdefault(each.function, []).append(each)
        return found

    @shared
    def scaling_under(self) -> dict[Function, list[tuple[ScalerCall, Site | None]]]:
        """Function -> the calls of `scale` in it, and in what it calls: these with the call that leads there."""
        found: dict[Function, list[tuple[ScalerCall, Site | None]]] = {}
        for each in self.scaler_calls:
            if each.method == "scale":
                found.setdefault(each.function, []).append((each, None))
                for site in self.call_graph.sites(each.function):
                    if site.caller is not each.function:
                        found.setdefault(site.caller, []).append((each, site))
        return found

    @shared
    def import_graph(self) -> ImportGraph:
        """Which files run together."""
        return self.program.import_graph

    def gave_up(self, place: Location, reason: str, rule: str = "") -> None:
        """Note that a rule cannot say whether something of the protocol is right: silence means that it looked."""
        self.not_followed.append(NotFollowed(path=place.path, line=place.line, reason=reason, rule=rule))

    def cut_short(self) -> Iterator[NotFollowed]:
        """Where the search for what an expression may be was ended by a limit: what it does not know is unknown."""
        for about in self.evaluator.demand.cut_short:
            place = searched(about, self.evaluator)
            if place is not None:
                yield NotFollowed(path=place.path, line=place.line, reason=CUT_SHORT)

    def violations(self, code: str) -> list[ViolationReport]:
        """The violations of the protocol that bear a rule's code, one per place, in order of place."""
        self.decided_by_order.add(code)
        return [self._with_way_to_settle(each) for each in self._protocol.get(code, [])]

    def _with_way_to_settle(self, report: ViolationReport) -> ViolationReport:
        if report.settling is NOTHING_SETTLES:
            return report
        return replace(report, settling=self.located(report.settling, report.place.function))

    def located(self, settling: Settling, function: Function) -> Settling:
        """What would settle something in a function: with the annotation and the command that the project has."""
        return located(settling, self.call_graph.above(function), self.modules, self.import_graph)

    @shared
    def _protocol(self) -> dict[str, list[ViolationReport]]:
        explorations = EntryPoints(self.program, self.modules, self.roles)
        grouped: dict[str, list[ViolationReport]] = {}
        for report in explorations.violations():
            grouped.setdefault(report.violation, []).append(report)
        self.not_followed += explorations.not_followed
        self.broken += explorations.broken
        regions = self.written_regions.by_function
        for place, reason in (
            *unknown_scalers(self.functions, self.roles),
            *unfollowed_calls(self.functions, self.scaler_calls, regions, self.roles),
        ):
            self.gave_up(place, reason)
        for place, reason in missing_methods(self.scaler_calls_in, self.evaluator, self.call_graph):
            self.gave_up(place, reason, Gap.MISSING_KEY.value)  # a path ends there: the order of events holds
        return grouped

    def parsed(self) -> list[Module]:
        return self.program.parsed


def memoised(
    function: Callable[Concatenate[Analysis, P], Iterable[T]],
) -> Callable[Concatenate[Analysis, P], tuple[T, ...]]:
    """Work out what a function finds in an analysis once for the same arguments, which are positional and hashable.

    For what several rules ask for, and one rule of many places. The function only looks: it may not call `gave_up`.
    """

    @wraps(function)
    def asked(analysis: Analysis, /, *args: P.args, **kwargs: P.kwargs) -> tuple[T, ...]:
        key = (function, args)
        if key not in analysis.answers:
            analysis.answers[key] = tuple(function(analysis, *args, **kwargs))
        return analysis.answers[key]  # type: ignore[no-any-return]

    return asked


def _evaluated_at(definition: ast.AST) -> Iterator[ast.expr]:
    """What a definition evaluates in the scope around it: its decorators, and the defaults of its parameters."""
    yield from getattr(definition, "decorator_list", ())
    if (arguments := getattr(definition, "args", None)) is not None:
        yield from arguments.defaults
        yield from filter(None, arguments.kw_defaults)
