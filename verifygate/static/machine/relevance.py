"""Relevance: which functions of a tree can leave an event that a rule reads, told without running anything.

One pass over the syntax of all files, without regard to the order of statements: a call graph by names. A function may
call every function of a name that it reads, and every method of a class that it names; methods of other objects count
where such an object is at hand (`followed.py`). What such a chain leads to is what the function *may* do.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterable, Iterator
from functools import cached_property

from verifygate.base.records import record
from verifygate.static.machine.call import Library, Matter
from verifygate.static.machine.relevance_facts import COMPUTED, Facts, FileFacts, facts_of
from verifygate.static.symbols.program import Program

CHEAP = 40
"""Statements: a function that takes no more, with all that it calls, is followed in any case."""
_MAKING = ("__init__", "__new__", "__post_init__")
_CALLING = ("__call__", "forward")
_BUILT_IN = frozenset(dir(builtins))


@record(eq=False, frozen=False, slots=False)
class Closure:
    """A function with all that it may call."""

    facts: Facts
    own: Matter = Matter.NOTHING
    """What it may come to by itself."""
    matter: Matter = Matter.NOTHING
    """The same with all that it calls."""
    reason: str = ""
    """What makes it matter, in words."""
    makes: bool = False
    """What comes back may be more than a number or a text: a tensor, an option, an object of the project."""
    makes_values: bool = False
    """A tensor or an option, by itself."""
    through: Closure | None = None
    """That of what it calls by which it matters; None where it does so itself."""
    targets: tuple[Closure, ...] = ()
    """The functions that it may call, but for methods of what comes from elsewhere."""
    asked: frozenset[str] = frozenset()
    """Attributes that it reads of who knows what, and methods that run without being named."""
    calls_a_variable: bool = False
    """It calls what it is given, or what lies in an attribute."""
    free: frozenset[str] = frozenset()
    """The variables of its module that it reads or writes, by itself."""
    changes: bool = False
    """It may change elements of what it is given, or of what lies in variables of a module, by itself."""

    @cached_property
    def reached(self) -> tuple[Closure, ...]:
        """Itself and all that it may call, however far."""
        found: dict[int, Closure] = {}
        ahead = [self]
        while ahead:
            each = ahead.pop()
            if id(each) not in found:
                found[id(each)] = each
                ahead += each.targets
        return tuple(found.values())

    @cached_property
    def cost(self) -> int:
        """Statements of all that it may call."""
        return sum(each.facts.cost for each in self.reached)


def variables_of(reached: Iterable[Closure]) -> frozenset[tuple[str, str]]:
    """(file, name) of the variables of modules that functions read or write by themselves."""
    return frozenset((each.facts.path, name) for each in reached for name in each.free)


@record
class Imported:
    """What the imports of one file bind."""

    outside: dict[str, str]
    """Local name -> dotted name of a library."""
    inside: dict[str, tuple[str, str]]
    """Local name -> the file of the project that it is from, and what it is called there; empty for a module."""
    loaded: dict[str, None]
    """The files that it loads."""


class Relevance:
    """What each function of a program may come to."""

    def __init__(self, program: Program, libraries: Iterable[Library]) -> None:
        self._libraries = tuple(libraries)
        self._program = program
        self._matters: dict[str, Matter] = {}
        self._methods: dict[str, Matter] = {}

    @cached_property
    def closures(self) -> dict[ast.AST, Closure]:
        """Definition, or module -> what it may come to."""
        return self._graph.closures

    @cached_property
    def _graph(self) -> _Graph:
        return _Graph(self, self.files)

    @cached_property
    def files(self) -> list[tuple[FileFacts, Imported]]:
        """The facts of each file that can be parsed."""
        modules = filter(None, (self._program.module(file.path) for file in self._program.sources))
        found = [facts_of(module.path, module.tree) for module in modules]
        return [(facts, self._imported(facts)) for facts in found]

    def _imported(self, facts: FileFacts) -> Imported:
        file = self._program.sources.get(facts.path)
        found = Imported({}, {}, {})
        if file is None:
            return found
        for node in facts.imports:
            level = getattr(node, "level", 0)
            space = node.module or "" if isinstance(node, ast.ImportFrom) else ""
            for alias in node.names:
                module = space if isinstance(node, ast.ImportFrom) else alias.name
                name = alias.asname or (alias.name if isinstance(node, ast.ImportFrom) else module.partition(".")[0])
                own = self._program.imports.resolved(module, file, level) if module or level else None
                if own is not None:
                    found.loaded.update(dict.fromkeys((*own.packages, *((own.module,) if own.module else ()))))
                if own is not None or level:
                    from_module = isinstance(node, ast.ImportFrom)
                    path = own.module or "" if own is not None else ""
                    found.inside[name] = (path, alias.name) if from_module else (path, "")
                elif isinstance(node, ast.ImportFrom):
                    found.outside[name] = f"{space}.{alias.name}"
                else:
                    found.outside[name] = alias.name if alias.asname else name
        return found

    def of(self, node: ast.AST) -> Closure | None:
        """What a function may come to; None for one that is not known."""
        return self.closures.get(node)

    def of_file(self, path: str) -> Closure | None:
        """What running a file as a program may come to; None for one that cannot be parsed."""
        return self._graph.bodies.get(path)

    def may_show(self, path: str, symbol: str = "") -> bool:
        """Whether a rule may find something where a file runs as a program, or one of its functions or classes alone.

        What a function gets that nobody calls is not known, and may have a state.
        """
        if not symbol:
            body = self.of_file(path)
            return body is not None and body.matter is Matter.EVENT
        head, _, name = symbol.partition(".")
        named = [*self._graph.functions.get(head, ())] if not name else []
        of_class = self._graph.methods.get(head, {})
        named += [each for key, found in of_class.items() if not name or key == name for each in found]
        return any(each.matter >= Matter.OF_STATE for each in named if each.facts.path == path)

    def reached(self, start: Iterable[Closure], classes: frozenset[str]) -> tuple[Closure, ...]:
        """Functions with all that they may call where objects of these classes are at hand."""
        methods: dict[str, list[Closure]] = {}
        for cls in classes:
            for name, found in self._graph.methods.get(cls, {}).items():
                methods[name] = [*methods.get(name, []), *found]
        reached: dict[int, Closure] = {}
        ahead = list(start)
        while ahead:
            each = ahead.pop()
            if id(each) in reached:
                continue
            reached[id(each)] = each
            ahead += each.targets
            for name in methods if COMPUTED in each.asked else each.asked & methods.keys():
                ahead += methods[name]
            if each.calls_a_variable or COMPUTED in each.asked:
                ahead += (of for name in _CALLING for of in methods.get(name, ()))
        return tuple(reached.values())

    def matters(self, name: str) -> Matter:
        """What a dotted name of a library may come to."""
        found = self._matters.get(name)
        if found is None:
            found = self._matters[name] = max(each.matters(name) for each in self._libraries)
        return found

    def method_matters(self, name: str) -> Matter:
        """What an attribute of who knows what may come to."""
        found = self._methods.get(name)
        if found is None:
            found = self._methods[name] = max(each.method_matters(name) for each in self._libraries)
        return found


class _Graph:
    """The call graph: functions by name, and every method of a class of which an object may be made.

    A method that is called on something that comes from elsewhere is not in it: which one that is, the object tells.
    """

    def __init__(self, relevance: Relevance, files: list[tuple[FileFacts, Imported]]) -> None:
        self._relevance = relevance
        self.closures: dict[ast.AST, Closure] = {}
        self.methods: dict[str, dict[str, list[Closure]]] = {}
        """Class -> name -> its methods."""
        self.bodies: dict[str, Closure] = {}
        """Path -> the body of the module."""
        self.functions: dict[str, list[Closure]] = {}
        self._bases: dict[str, set[str]] = {}
        """Class -> the last names of its bases."""
        self.stored: set[str] = set()
        """Attributes that are written: what is called by such a name may be any function that is handed on."""
        for facts, _ in files:
            self.stored |= facts.attributes
            for name, bases in facts.classes.items():
                self._bases.setdefault(name, set()).update(bases)
            for each in facts.functions:
                self._add(each)
        for facts, imported in files:
            for each in facts.functions:
                self._resolve(self.closures[each.node], imported)
            body = self.bodies[facts.path]
            loaded = (self.bodies.get(path) for path in imported.loaded)
            body.targets = (*body.targets, *(each for each in loaded if each is not None))
        self._spread()

    def _add(self, facts: Facts) -> None:
        made = self.closures[facts.node] = Closure(facts)
        if not facts.name:
            self.bodies[facts.path] = made
        elif facts.owner:
            self.methods.setdefault(facts.owner, {}).setdefault(facts.name, []).append(made)
        else:
            self.functions.setdefault(facts.name, []).append(made)

    # -- what each says ------------------------------------------------------------------------------------------

    def _resolve(self, closure: Closure, imported: Imported) -> None:
        facts = closure.facts
        targets: dict[int, Closure] = {}
        free, asked = set(), facts.implicit | facts.looked_up
        for chain in facts.chains:
            root, _, rest = chain.partition(".")
            if root in imported.outside and root not in facts.bound:
                name = imported.outside[root]
                self._of_library(closure, f"{name}.{rest}" if rest else name)
                continue
            if root and root not in facts.bound and root not in imported.inside and root not in _BUILT_IN:
                free.add(root)
            for each in rest.split(".") if rest else ():
                asked.add(each)
                self._of_method(closure, each)
            targets |= {id(each): each for each in self._targets(facts, chain, imported)}
            names = (imported.inside.get(root, ("", root))[1], *rest.split("."))
            closure.makes |= any(each in self._bases for each in names)
        targets |= {id(of): of for inner in facts.inner for of in (self.closures[inner.node],)}
        targets |= {id(each): each for each in self._of_class(closure)}
        closure.targets = tuple(targets.values())
        closure.asked, closure.free = frozenset(asked), frozenset(free)
        closure.calls_a_variable = self._calls_a_variable(facts, imported)
        for name, roots in facts.from_calls.items():
            if any(root not in imported.outside or root in facts.bound for root in roots):
                facts.shared.add(name)
        closure.changes = any(each in facts.shared or each not in facts.bound for each in facts.changed)
        closure.makes |= facts.is_generator or facts.makes_functions
        for each in facts.writes:
            self._of_method(closure, each)
        if facts.adds_in_place:
            self._raise(closure, Matter.OF_STATE, "adds in place")
        if facts.is_nonlocal:
            self._raise(closure, Matter.EVENT, "writes variables of the function around it")

    def _targets(self, facts: Facts, chain: str, imported: Imported) -> Iterator[Closure]:
        """The functions that reading a name may lead to."""
        root, _, rest = chain.partition(".")
        path, name = imported.inside.get(root, (facts.path, root)) if root else ("", "")
        if name:
            yield from self._by_name(name, path)
        for each in rest.split(".") if rest else ():
            if root in imported.inside or each in self._bases:
                yield from self._by_name(each, path)

    def _by_name(self, name: str, path: str) -> Iterator[Closure]:
        """The functions of a name: those of one file where it has any; the methods of a class."""
        named = self.functions.get(name, [])
        yield from [each for each in named if each.facts.path == path] or named
        if name in self._bases:
            for cls in (name, *self.above(name)):
                for methods in self.methods.get(cls, {}).values():
                    yield from methods

    def _calls_a_variable(self, facts: Facts, imported: Imported) -> bool:
        for chain in facts.calls:
            root, _, rest = chain.partition(".")
            if not chain:
                return True
            if not rest:
                known = root in imported.outside or root in imported.inside or root in _BUILT_IN
                if root in facts.bound or not (known or root in self.functions or root in self._bases):
                    return True
            elif rest.rpartition(".")[2] in self.stored and (root not in imported.outside or root in facts.bound):
                return True
        return False

    def _of_library(self, closure: Closure, name: str) -> None:
        matter = self._relevance.matters(name)
        if matter is Matter.VALUE:
            closure.makes = closure.makes_values = True
        elif matter:
            self._raise(closure, matter, f"uses `{name}`")

    def _of_method(self, closure: Closure, name: str) -> None:
        matter = self._relevance.method_matters(name)
        if matter > Matter.VALUE:
            self._raise(closure, matter, f"has `.{name}`")

    def _of_class(self, closure: Closure) -> Iterator[Closure]:
        """A constructor makes a module, or whatever a base makes; `super()` leads to the bases."""
        facts = closure.facts
        if not facts.owner:
            return
        above = self.above(facts.owner)
        if facts.name in _MAKING and any(each not in self._bases and each not in _PLAIN for each in above):
            self._raise(closure, Matter.EVENT, "makes an object of a class that derives from a library's")
        if "super" in facts.calls:
            names = {facts.name} | {chain[1:] for chain in facts.calls if chain.startswith(".")}
            for each in above:
                for name in names:
                    yield from self.methods.get(each, {}).get(name, ())

    def above(self, name: str) -> list[str]:
        """The names of the classes that a class may derive from."""
        found: dict[str, None] = {}
        ahead = [name]
        while ahead:
            for each in self._bases.get(ahead.pop(), ()):
                if each not in found:
                    found[each] = None
                    ahead.append(each)
        return list(found)

    @staticmethod
    def _raise(closure: Closure, matter: Matter, reason: str) -> None:
        if matter > closure.own:
            closure.own = closure.matter = matter
            closure.reason = f"`{closure.facts.symbol or closure.facts.path}` {reason}"

    # -- what it leads to ----------------------------------------------------------------------------------------

    def _spread(self) -> None:
        """Let each have what those have that it may call."""
        every = list(self.closures.values())
        callers: dict[int, list[Closure]] = {}
        for each in every:
            for target in each.targets:
                callers.setdefault(id(target), []).append(each)
        for matter in (Matter.EVENT, Matter.OF_STATE):
            ahead = [each for each in every if each.own is matter]
            while ahead:
                callee = ahead.pop()
                for each in callers.get(id(callee), ()):
                    if each.matter < matter:
                        each.matter, each.reason, each.through = matter, callee.reason, callee
                        ahead.append(each)
        ahead = [each for each in every if each.makes]
        while ahead:
            for each in callers.get(id(ahead.pop()), ()):
                if not each.makes:
                    each.makes = True
                    ahead.append(each)


_PLAIN = frozenset(
    """object ABC Enum IntEnum StrEnum NamedTuple TypedDict Protocol Generic dict list tuple str int float set
    OrderedDict defaultdict UserDict Exception ValueError RuntimeError Thread Formatter Action ArgumentParser BaseModel
    Dataset IterableDataset Sampler""".split()  # noqa: SIM905
)
"""Bases of classes that are neither modules nor optimizers."""
