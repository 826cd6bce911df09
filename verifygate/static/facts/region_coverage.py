"""Interprocedural region coverage: which functions run inside an autocast region, called from it at any depth.

A call that cannot be resolved, as of a model that is built by name from a registry, is taken to reach the methods of
that name of every module (of torch) in the program; what is found through it is only likely.
"""

from __future__ import annotations

import ast
import re
from collections import deque
from collections.abc import Iterator, Sequence
from functools import cached_property

from verifygate.base.records import record
from verifygate.naming import names_a_loss, names_a_loss_or_criterion
from verifygate.static.amp.autocast_regions import WrittenRegion, WrittenRegions
from verifygate.static.amp.decorator_regions import decorators
from verifygate.static.amp.roles import Roles
from verifygate.static.symbols.enclosing import EnclosingNodes
from verifygate.static.symbols.import_graph import Files, ImportGraph
from verifygate.static.symbols.program import Class, Function, Module
from verifygate.static.syntax.names import last_name
from verifygate.static.syntax.traversal import walk
from verifygate.static.values.call_graph import CallGraph, Site
from verifygate.static.values.domain import FunctionValue, Unknown
from verifygate.static.values.overrides import is_empty

_BY_TEXT = re.compile(rb"getattr\([^,()]+,\s*[^\"'\s]|import_module\(|__import__\(|globals\(\)|\.__dict__\b")
"""What reads a class by a name that the program computes."""


@record(eq=False)
class Cover:
    """The region that a location runs in, and how it is reached from there."""

    region: WrittenRegion
    certain: bool
    """Every call in between was resolved."""
    guess: Site | None = None
    """The unresolved call that was taken to reach every method of its name, if there is one."""


class RegionCoverage:
    def __init__(
        self,
        roles: Roles,
        regions: WrittenRegions,
        callers: CallGraph,
        import_graph: ImportGraph,
        nesting: EnclosingNodes,
        modules: list[Module],
    ) -> None:
        self.roles = roles
        self.nesting = nesting
        self.evaluator = roles.evaluator
        self.regions = regions
        self.callers = callers
        self.import_graph = import_graph
        self.modules = modules

    def cover(self, node: ast.AST, function: Function) -> Cover | None:
        """The region that is open where a node runs, or None: an enclosing region decides before a caller's."""
        written = self.written_around(node, function)
        if written is not None:
            return Cover(written, True) if written.is_active else None
        return None if self._is_opposite_branch(node, function) else self.reached.get(function)

    def is_left_out(self, function: Function, seen: frozenset[Function] = frozenset()) -> bool:
        """Whether some call of a function that regions reach runs it outside of all of them, up to a module's body."""
        for site in self.callers.sites(function):
            written = self.written_around(site.call, site.caller)
            if written is not None or site.caller in seen:
                continue
            if not site.caller.symbol or site.caller not in self.reached:
                return True
            if self.is_left_out(site.caller, seen | {function}):
                return True
        return False

    def _is_opposite_branch(self, node: ast.AST, function: Function) -> bool:
        """Whether the other branch of an `if` around a node has a region: this one is for running without."""
        blocks = {region.block for region in self.regions.by_function.get(function, ())}
        for each in self.nesting.around(node, function) if blocks else ():
            if isinstance(each.node, ast.If) and each.part in ("body", "orelse"):
                other = each.node.orelse if each.part == "body" else each.node.body
                if any(inner in blocks for statement in other for inner in walk(statement)):
                    return True
        return False

    def written_around(self, node: ast.AST, function: Function) -> WrittenRegion | None:
        """The innermost region of the same function that encloses a node."""
        found = [region for region in self.regions.by_function.get(function, ()) if node in self._inside(region)]
        return found[-1] if found else None

    def trains_not(self, region: WrittenRegion) -> bool:
        """Whether nothing is trained in a region: it is in a test file, or under `no_grad`."""
        contexts = [region.context, *self.nesting.contexts(region.context, region.function)]
        if region.block is not region.function.node:
            contexts += [item.context_expr for item in region.block.items]  # type: ignore[attr-defined]
        contexts += getattr(region.function.node, "decorator_list", ())
        return region.function.module.file.is_test or any(
            last_name(each) in ("no_grad", "inference_mode") for each in contexts
        )

    def _inside(self, region: WrittenRegion) -> frozenset[ast.AST]:
        if region not in self._sets:
            self._sets[region] = frozenset(region.nodes)
        return self._sets[region]

    @cached_property
    def _sets(self) -> dict[WrittenRegion, frozenset[ast.AST]]:
        return {}

    @cached_property
    def reached(self) -> dict[Function, Cover]:
        """Functions that are called inside a region, with their cover: a path of resolved calls wins."""
        found: dict[Function, Cover] = {}
        for certain in (True, False):
            queue: deque[tuple[Function, Cover]] = deque()
            for region in sorted(self.regions.all, key=self._precedence):
                if region.is_active:
                    self._calls(region.calls, region.function, Cover(region, True), queue, follow_only=certain)
                    queue.extend((each, Cover(region, True)) for each in self._decorated_with(region))
            for function, cover in [] if certain else list(found.items()):
                self._calls(function.calls, function, cover, queue, follow_only=False)
            while queue:
                function, cover = queue.popleft()
                if function not in found and not self._is_decorated_away(function):
                    found[function] = cover
                    self._calls(function.calls, function, cover, queue, follow_only=certain)
        return found

    def _precedence(self, region: WrittenRegion) -> tuple[bool, bool, str]:
        """Of several regions around a call, those of a known make come first, and those that train; then by path.

        By path, and not in the order in which files are looked at: dtype and witness of a finding are this region's.
        """
        return region.region.made is None, self.trains_not(region), region.function.module.path

    def _is_decorated_away(self, function: Function) -> bool:
        """Whether a decorator of the project disables autocast while the function runs."""
        frame = self.evaluator.module_frame(function.module)
        for decorator in getattr(function.node, "decorator_list", ()):
            made = decorator.func if isinstance(decorator, ast.Call) else decorator
            for value in self.evaluator.values(made, frame):
                if isinstance(value, FunctionValue) and any(
                    not region.is_active for region in self._within(value.function)
                ):
                    return True
        return False

    def _decorated_with(self, region: WrittenRegion) -> Iterator[Function]:
        """The functions that a decorator of the project calls inside the region: `with autocast(): method(*given)`."""
        outer = region.function.enclosing
        if outer is None or not outer.parameters:
            return
        given = {each.arg for each in outer.parameters}
        if not any(isinstance(call.func, ast.Name) and call.func.id in given for call in region.calls):
            return
        for module in self.modules:
            for function in module.functions.values():
                if any(each is outer for _, each in decorators(function, self.roles)):
                    yield function

    def _within(self, outer: Function) -> Iterator[WrittenRegion]:
        """The regions in a function and in the functions nested in it."""
        for home, regions in self.regions.by_function.items():
            inner: Function | None = home
            while inner is not None and inner is not outer:
                inner = inner.enclosing
            if inner is outer:
                yield from regions

    def _calls(
        self,
        calls: list[ast.Call] | tuple[ast.Call, ...],
        function: Function,
        cover: Cover,
        queue: deque[tuple[Function, Cover]],
        *,
        follow_only: bool,
    ) -> None:
        for call in calls:
            written = self.written_around(call, function)
            if written is not None and (not written.is_active or written is not cover.region):
                continue  # an island, or a region that starts a search of its own
            callees = self.callers.callees(call, function)
            queue.extend((callee, cover) for callee in callees)
            if not follow_only and all(is_empty(callee) for callee in callees):
                named = isinstance(call.func, ast.Attribute) and bool(self._methods.get(call.func.attr))
                guess = Cover(cover.region, False, Site(call, function) if named else cover.guess)
                reached = (
                    self._overriding(callees, cover.region) if callees else self._by_name(call, function, cover.region)
                )
                queue.extend((callee, guess) for callee in reached)

    def _by_name(self, call: ast.Call, function: Function, region: WrittenRegion) -> list[Function]:
        """Resolve a call by name: the methods of the program's modules (of torch) that it may run."""
        name = last_name(call.func)
        loss = names_a_loss_or_criterion(name)
        direct = isinstance(call.func, ast.Name) or not self._methods.get(name)
        files = self.import_graph.with_loaded(region.function.module.path)
        guess = ("forward" if direct else name, direct and loss, files)
        if guess in self._guessed:  # all of them are in the queue already, but for one that was left out
            left = [method for method in self._left_out.get(guess, ()) if method is not function]
            self._left_out[guess] = [] if left else self._left_out.get(guess, [])
            return left
        values = self.evaluator.values(call.func, self.evaluator.root_frame(function))
        if not any(isinstance(value, Unknown) for value in values):
            return []
        self._guessed.add(guess)
        candidates = self._methods.get(guess[0], [])
        found = []
        for method in candidates:
            owner = method.owner.node.name if method.owner else ""
            fits = method.module.path in files and (not direct or loss == names_a_loss_or_criterion(owner))
            if fits and self._is_named(method, files):
                found.append(method)
        if direct and not loss:
            found += [method for method in self._own_losses if method.module.path in files]
            found += [method for method in candidates if method not in found and self._is_used_unseen(method, files)]
        self._left_out[guess] = [method for method in found if method is function]  # no module runs itself
        return [method for method in found if method is not function]

    def _is_named(self, method: Function, files: Files) -> bool:
        """Whether a program names the class of a method beside its definition, so that it can have an object of it.

        What a decorator registers is looked up by a text, and so is what is read from a whole module. A file that has a
        region is a program by itself, whose caller hands it what the file defines.
        """
        made = method.owner
        if made is None or made.node.decorator_list or made.module in self._modules_with_regions:
            return True
        if self._looks_names_up(files):
            return True
        name = made.node.name.encode()
        in_own = re.findall(rb"\b%s\b" % re.escape(name), made.module.file.data)
        return len(in_own) > 1 or not self._naming(files).get(name, set()) <= {made.module.path}

    def _looks_names_up(self, files: Files) -> bool:
        """Whether a file of a program reads something by a name that it computes."""
        if files not in self._by_text:
            self._by_text[files] = any(_BY_TEXT.search(file.data) for file in self.import_graph.sources.each(files))
        return self._by_text[files]

    def _naming(self, files: Files) -> dict[bytes, set[str]]:
        """Name of a class that has methods -> the files of a program that name it."""
        if files not in self._named:
            names = {each.owner.node.name.encode() for found in self._methods.values() for each in found if each.owner}
            naming: dict[bytes, set[str]] = {}
            for file in self.import_graph.sources.each(files):
                for name in names.intersection(re.findall(rb"\w+", file.data)):
                    naming.setdefault(name, set()).add(file.path)
            self._named[files] = naming
        return self._named[files]

    def _overriding(self, abstract: Sequence[Function], region: WrittenRegion) -> list[Function]:
        """The overrides, in the program, of abstract methods."""
        files = self.import_graph.with_loaded(region.function.module.path)
        owners = {function.owner for function in abstract}
        return [
            method
            for name in sorted({function.name for function in abstract})
            for method in self._methods.get(name, [])
            if method.module.path in files
            and method.owner is not None
            and method.owner not in owners
            and owners & set(self.evaluator.linearised(method.owner))
        ]

    @cached_property
    def _modules_with_regions(self) -> frozenset[Module]:
        return frozenset(function.module for function in self.regions.by_function)

    @cached_property
    def _by_text(self) -> dict[Files, bool]:
        return {}

    @cached_property
    def _named(self) -> dict[Files, dict[bytes, set[str]]]:
        return {}

    @cached_property
    def _guessed(self) -> set[tuple[str, bool, Files]]:
        return set()

    @cached_property
    def _left_out(self) -> dict[tuple[str, bool, Files], list[Function]]:
        """A guess -> the method that made it, if it is among its own targets: another call may run it."""
        return {}

    @cached_property
    def _own_losses(self) -> list[Function]:
        """Methods with `loss` in their name and no known call site: a `forward` may call them."""
        return [
            method
            for name, methods in self._methods.items()
            if names_a_loss(name) and name not in self._outside
            for method in methods
            if not self.callers.sites(method)
        ]

    @cached_property
    def _outside(self) -> frozenset[str]:
        """The names of the calls outside the regions, in functions that have one."""
        return frozenset(
            last_name(call.func)
            for function in self.regions.by_function
            for call in function.calls
            if self.written_around(call, function) is None
        )

    def _is_used_unseen(self, method: Function, files: Files) -> bool:
        """Whether a loss module has no known call site but is named in another file, so that a model may call it.

        Not where a loss is called outside the regions: it may be this one.
        """
        if method.module.path not in files or method.owner is None or self.callers.sites(method):
            return False
        if any(map(names_a_loss_or_criterion, self._outside)):
            return False
        name = method.owner.node.name.encode()
        others = self.import_graph.sources.each(files - {method.module.path})
        return any(name in file.data for file in others)

    @cached_property
    def _methods(self) -> dict[str, list[Function]]:
        """Name -> the methods of that name in the subclasses of `torch.nn.Module` in the project."""
        found: dict[str, list[Function]] = {}
        for module in self.modules:
            for made in module.classes.values():
                if made.methods and any(base.startswith("torch.nn.") for base in self.evaluator.outside_bases(made)):
                    for name, method in made.methods.items():
                        if not name.startswith("__"):
                            found.setdefault(name, []).append(method)
                    found.setdefault("forward", []).extend(_put_in_place_of_forward(made))
        return found


def _put_in_place_of_forward(made: Class) -> Iterator[Function]:
    """The methods that are assigned to `forward`: `self.forward = self.in_parts if in_parts else self.at_once`."""
    for binding, _ in made.attributes.get("forward", ()):
        for node in walk(binding.expr) if binding.expr is not None else ():
            if isinstance(node, ast.Attribute) and node.attr in made.methods:
                yield made.methods[node.attr]
