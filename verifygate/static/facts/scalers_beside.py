"""Which scalers run beside a place: in one program with it, by what calls what or by what names it.

Scalers of the same programs are asked about together: a program may have as many places as scalers.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterator, Sequence

from verifygate.base.records import field, record
from verifygate.sources.byte_patterns import whole
from verifygate.sources.tree import Sources
from verifygate.static.amp.scalers import ScalerAllocation
from verifygate.static.symbols.import_graph import Files, ImportGraph
from verifygate.static.symbols.location import Location
from verifygate.static.symbols.program import Class, Function, Module
from verifygate.static.values.call_graph import CallGraph


@record
class _Group:
    """The scalers of the same programs, by number in the order of the source."""

    programs: Sequence[Files]
    numbers: list[int] = field(default_factory=list)
    below: dict[Function, int] = field(default_factory=dict)
    """Function -> the first that it leads to by calls."""
    in_module: dict[Module, int] = field(default_factory=dict)
    """Module -> the first that it builds."""
    of_class: dict[tuple[Module, Class | None], int] = field(default_factory=dict)
    """Module and class -> the first that an instance of the class builds there."""


@record
class Beside:
    """The first scaler of some programs that a place runs beside."""

    scaler: ScalerAllocation
    files: frozenset[str]
    """The files of the programs that have both."""
    together: bool
    """Whether one run surely has both."""


class ScalersBeside:
    """Answers for some scalers. The files of a program that match `left_out` do not count."""

    def __init__(
        self,
        scalers: Sequence[ScalerAllocation],
        call_graph: CallGraph,
        import_graph: ImportGraph,
        sources: Sources,
        left_out: str,
    ) -> None:
        self._scalers = scalers
        self._call_graph = call_graph
        self._sources = sources
        self._left_out = left_out
        self._groups = self._grouped(import_graph)
        self._near: dict[str, list[tuple[_Group, list[Files]]]] = {}
        self._files: dict[Files, frozenset[str]] = {}
        self._named: dict[Hashable, bool] = {}

    def of(self, place: Location) -> Iterator[Beside]:
        """For each set of programs the first scaler that runs beside a place, in the order of the source."""
        if re.search(self._left_out, place.path):
            return
        found: list[tuple[int, list[Files], bool]] = []
        for group, programs in self._programs_with(place.path):
            number = self._first_together(group, place.function)
            if number != group.numbers[0] and self._is_named(place.function, programs):
                found += self._first_built(group, programs)
            elif number is not None:
                found.append((number, programs, True))
        for number, programs, together in sorted(found, key=lambda each: each[0]):
            yield Beside(self._scalers[number], self._counted(programs), together)

    def _grouped(self, import_graph: ImportGraph) -> list[_Group]:
        groups: dict[tuple[Files, ...], _Group] = {}
        for number, scaler in enumerate(self._scalers):
            function, programs = scaler.function, import_graph.programs(scaler.place.path)
            group = groups.setdefault(tuple(programs), _Group(programs))
            group.numbers.append(number)
            for caller in self._call_graph.above(function):
                group.below.setdefault(caller, number)
            group.in_module.setdefault(function.module, number)
            group.of_class.setdefault((function.module, scaler.owner), number)
        return list(groups.values())

    def _first_together(self, group: _Group, function: Function) -> int | None:
        """The first scaler of a group that one run surely has with a function."""
        above = self._call_graph.above(function)
        owners = {function.owner, *(each.owner for each in above if each.owner is not None)}
        found = [group.below.get(each) for each in above]
        found += [group.of_class.get((function.module, owner)) for owner in owners]
        if not self._call_graph.sites(function):
            found.append(group.in_module.get(function.module))
        return min((each for each in found if each is not None), default=None)

    def _programs_with(self, path: str) -> list[tuple[_Group, list[Files]]]:
        """The groups of which a program has a file, each with those programs."""
        if path not in self._near:
            each_with = ((group, [files for files in group.programs if path in files]) for group in self._groups)
            self._near[path] = [(group, programs) for group, programs in each_with if programs]
        return self._near[path]

    def _counted(self, programs: Sequence[Files]) -> frozenset[str]:
        files = programs[0].joined(programs)
        if files not in self._files:
            self._files[files] = frozenset(path for path in files if not re.search(self._left_out, path))
        return self._files[files]

    def _first_built(self, group: _Group, programs: list[Files]) -> Iterator[tuple[int, list[Files], bool]]:
        """The first scaler whose function some of the programs name, with these: no other program builds it."""
        for number in group.numbers:
            function = self._scalers[number].function
            building = [
                files for files in programs if self._calls_itself(function) or self._is_named(function, [files])
            ]
            if building:
                yield number, building, False
                return

    def _calls_itself(self, function: Function) -> bool:
        """Whether the file of a function may call it: it names it behind its `def`."""
        name = function.owner.node.name if function.owner else function.name
        return not name or len(re.findall(whole(name).encode(), function.module.file.data)) > 1

    def _is_named(self, function: Function, programs: Sequence[Files]) -> bool:
        """Whether another file of a program names the function, or its class: nothing else runs it."""
        name = function.owner.node.name if function.owner else function.name
        if not name:
            return True
        key = (name, function.module.path, *programs)
        if key not in self._named:
            word = re.compile(whole(name).encode())
            others = {path for files in programs for path in files} - {function.module.path}
            self._named[key] = any(word.search(file.data) for file in self._sources.each(others))
        return self._named[key]
