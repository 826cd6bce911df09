"""The symbol table: the project as modules, classes, functions and scopes, and where each name leads.

Files are parsed once and only when something asks for them; of most files, only the definitions that are asked for.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property, partial
from typing import NamedTuple, TypeVar

from verifygate.base.cpu_time import OFF, Timings
from verifygate.base.records import field, record, replace
from verifygate.sources.file import SourceFile
from verifygate.sources.import_resolution import ImportResolver
from verifygate.sources.outline import Span
from verifygate.sources.qualified_names import Definition, definitions, unnumbered
from verifygate.sources.tree import Sources
from verifygate.sources.vocabulary import Vocabulary
from verifygate.static.symbols.import_graph import ImportGraph
from verifygate.static.symbols.own_nodes import never_runs, own_nodes, replaces
from verifygate.static.symbols.scopes import Binding, FunctionNode, Scope, bound_targets, scope_of
from verifygate.static.syntax.deferred import KINDS, Source, empty_definition, parse_skeleton, source_of
from verifygate.static.syntax.names import simple_name
from verifygate.static.syntax.parser import UnparsableError, parse

_NEVER_ASKED_FOR = frozenset({ast.Constant, ast.Name, ast.arg, ast.alias, ast.keyword})
"""Kinds that `of_kind` does not keep: two nodes of three, which nobody looks for by themselves."""
Node = TypeVar("Node", bound=ast.AST)
Picked = Mapping[str, frozenset[str] | None]
"""Path of a file to look at -> names of the definitions at its top level that rules look at; None for all."""


@record(eq=False, slots=False)
class Function:
    """A function, a method, or (with a module's node) the body of a module."""

    module: Module
    node: FunctionNode | ast.Module
    symbol: str
    """Qualified name in its module; empty for the module's own body."""
    owner: Class | None = None
    enclosing: Function | None = None

    @cached_property
    def scope(self) -> Scope:
        scope = scope_of(self.node, self.own_nodes)
        for name, binding in self.module.reached_into.get(self, ()):
            scope.add(name, binding)
        return scope

    @cached_property
    def key(self) -> str:
        """File and symbol: no two functions share it."""
        return f"{self.module.path}:{self.symbol}"

    @property
    def name(self) -> str:
        return self.symbol.rpartition(".")[2]

    @property
    def written_in(self) -> Function:
        """The function by name that this one stands in; itself, unless it is a lambda, whose symbol tells its line."""
        inside = self.enclosing if self.name.startswith("<lambda") else None
        return self if inside is None else inside.written_in

    @cached_property
    def parameters(self) -> list[ast.arg]:
        if isinstance(self.node, ast.Module):
            return []
        arguments = self.node.args
        return [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]

    @cached_property
    def is_static(self) -> bool:
        return any(simple_name(decorator) == "staticmethod" for decorator in getattr(self.node, "decorator_list", ()))

    @cached_property
    def is_class_method(self) -> bool:
        return any(simple_name(decorator) == "classmethod" for decorator in getattr(self.node, "decorator_list", ()))

    @cached_property
    def is_property(self) -> bool:
        """Whether reading it as an attribute runs it."""
        names = {simple_name(decorator) for decorator in getattr(self.node, "decorator_list", ())}
        return bool(names & {"property", "cached_property"})

    @cached_property
    def is_generator(self) -> bool:
        return bool(self.of_kind(ast.Yield) or self.of_kind(ast.YieldFrom))

    def default(self, parameter: str) -> ast.expr | None:
        """The default value of a parameter, or None where it has none."""
        if isinstance(self.node, ast.Module):
            return None
        arguments = self.node.args
        positional = [*arguments.posonlyargs, *arguments.args]
        pairs = list(zip(reversed(positional), reversed(arguments.defaults), strict=False))
        pairs += [(arg, value) for arg, value in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True) if value]
        return next((value for arg, value in pairs if arg.arg == parameter), None)

    @cached_property
    def own_nodes(self) -> tuple[ast.AST, ...]:
        """Every node of the body but for the bodies of nested functions and classes."""
        return tuple(own_nodes(self.node))

    def of_kind(self, kind: type[Node]) -> list[Node]:
        """Its own nodes of one kind, in source order. Rules ask for few kinds, and most nodes are of others."""
        return self._by_kind.get(kind, [])  # type: ignore[return-value]

    @property
    def withs(self) -> list[ast.With | ast.AsyncWith]:
        """Its `with` statements, each outer one before those inside it."""
        return sorted([*self.of_kind(ast.With), *self.of_kind(ast.AsyncWith)], key=lambda node: node.lineno)

    @property
    def loops(self) -> list[ast.For | ast.AsyncFor | ast.While]:
        return [*self.of_kind(ast.For), *self.of_kind(ast.AsyncFor), *self.of_kind(ast.While)]

    @cached_property
    def _by_kind(self) -> dict[type[ast.AST], list[ast.AST]]:
        found: dict[type[ast.AST], list[ast.AST]] = {}
        for node in self.own_nodes:
            if node.__class__ not in _NEVER_ASKED_FOR:
                found.setdefault(node.__class__, []).append(node)
        return found

    @property
    def calls(self) -> list[ast.Call]:
        return self.of_kind(ast.Call)

    @property
    def returns(self) -> list[ast.expr]:
        return [node.value for node in self.of_kind(ast.Return) if node.value is not None]


@record(eq=False, slots=False)
class Class:
    module: Module
    node: ast.ClassDef
    symbol: str
    methods: dict[str, Function] = field(default_factory=dict)

    @cached_property
    def own_nodes(self) -> tuple[ast.AST, ...]:
        """Every node of the class body but for the bodies of its methods and nested classes."""
        return tuple(own_nodes(self.node))

    @property
    def is_named_tuple(self) -> bool:
        """Whether its objects are tuples with names for the elements."""
        return bool(self.fields) and any(simple_name(base) == "NamedTuple" for base in self.node.bases)

    @cached_property
    def fields(self) -> list[str]:
        """The fields of a dataclass or named tuple, in order; none for any other class."""
        names = {simple_name(each.func if isinstance(each, ast.Call) else each) for each in self.node.decorator_list}
        names |= {simple_name(base) for base in self.node.bases}
        if not names & {"dataclass", "NamedTuple"} or "__init__" in self.methods:
            return []
        return [
            node.target.id
            for node in self.node.body
            if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name)
        ]

    @cached_property
    def attributes(self) -> dict[str, list[tuple[Binding, Function | None]]]:
        """Attribute -> how it is bound: `self.x = ...` in any method, or in the body of the class."""
        found: dict[str, list[tuple[Binding, Function | None]]] = {}
        for name, bindings in scope_of(self.node, self.own_nodes).names.items():
            for binding in bindings:
                if binding.kind != "function":
                    found.setdefault(name, []).append((binding, None))
        for method in self.methods.values():
            if not method.parameters or method.is_static:
                continue
            this = method.parameters[0].arg
            for target, binding in bound_targets(method.own_nodes):
                if isinstance(target, ast.Attribute) and isinstance(target.value, ast.Name) and target.value.id == this:
                    found.setdefault(target.attr, []).append((binding, method))
        return found


class Members(NamedTuple):
    """What one definition at the top level of a file comes to: itself and all that is defined inside it, in order."""

    functions: list[Function]
    classes: list[Class]
    never_run: list[Function]
    """Methods whose names their class binds again."""


class Module:
    """One parsed file."""

    is_model = False
    """Whether it is no file of the project's: it says in Python what a library does."""
    package = ""
    """The library of which it says that."""

    def __init__(self, file: SourceFile, tree: ast.Module, looked_at: frozenset[str] | None = None) -> None:
        self.file = file
        self.path = file.path
        self.tree = tree
        self.mentions = Vocabulary(file).has
        """Whether one of some words stands anywhere in the file: rules ask that of each of its functions."""
        self.body = Function(self, tree, "")
        self._symbols = definitions(tree.body)
        self._function_of: dict[ast.AST, Function] = {}
        self._class_of: dict[ast.AST, Class] = {}
        self.binders: dict[Binding, Function] = {}
        """Binding `elsewhere` -> the inner function that declares the name global or nonlocal and binds it."""
        self.members: dict[Definition, Members] = {}
        """Definition at the top level -> its members, of those that somebody asked for, in the order of asking."""
        self.look_at(looked_at)

    def look_at(self, names: frozenset[str] | None) -> None:
        """Let rules look at the definitions of these names (None: at all), and at those under a condition."""
        self.looked_at = names
        tops = [top for top in self._symbols if names is None or top.name in names or top.col_offset]
        looked_at = [self._collected(top) for top in tops]
        self.functions = {function.symbol: function for members in looked_at for function in members.functions}
        """Every function that rules look at, by symbol. Others are reached through what leads to them."""
        for dead in [each for members in looked_at for each in members.never_run]:
            self.functions.pop(dead.symbol, None)
        self.classes = {made.symbol: made for members in looked_at for made in members.classes}

    @property
    def all_functions(self) -> tuple[Function, ...]:
        """What code can stand in: the body of the module, and every function that rules look at."""
        return (self.body, *self.functions.values())

    def function(self, node: Definition) -> Function:
        """The function that a definition makes."""
        if node not in self._function_of:
            self._collected(node)
        return self._function_of[node]

    def made(self, node: Definition) -> Class:
        """The class that a definition makes."""
        if node not in self._class_of:
            self._collected(node)
        return self._class_of[node]

    def holding(self, word: bytes, *, begins: bool = False) -> Iterator[Function]:
        """The body, and the functions of every definition in which a word stands, whether rules look at it or not.

        `begins`: where a statement may begin with it.
        """
        yield self.body
        for top in self._symbols:
            source = source_of(top)
            if source is None or (source.begins_with(word) if begins else source.holds(word)):
                yield from self._collected(top).functions

    def beside(self, function: Function) -> list[Function]:
        """The functions of the definition at the top level that a function is, or stands in."""
        head = function.symbol.partition(".")[0]
        return next((each.functions for top, each in self.members.items() if self._symbols[top] == head), [])

    def span_of(self, function: Function) -> Span | None:
        """The definition that a function is or stands in, where rules look only at some of the file's."""
        if self.looked_at is None:
            return None
        head = unnumbered(function.symbol.partition(".")[0]).encode()
        return next((span for span in self.file.definitions if span.name == head), None)

    def _collected(self, top: Definition) -> Members:
        if top not in self.members:
            self.members[top] = Members([], [], [])
            self._collect(top, self._symbols[top], None, self.body, self.members[top])
        return self.members[top]

    def _collect(
        self, node: Definition, symbol: str, owner: Class | None, enclosing: Function, members: Members
    ) -> None:
        made: Class | None = None
        if isinstance(node, ast.ClassDef):
            made = self._class_of[node] = Class(self, node, symbol)
            members.classes.append(made)
        else:
            enclosing = self._function_of[node] = Function(self, node, symbol, owner, enclosing)
            members.functions.append(enclosing)
            if owner is not None and (node.name not in owner.methods or replaces(node, owner.node.body)):
                first = owner.methods.get(node.name)
                if (
                    first is not None
                    and not isinstance(first.node, ast.Module)
                    and never_runs(first.node, owner.node.body)
                ):
                    members.never_run.append(first)
                owner.methods[node.name] = enclosing
        for inner, name in definitions(node.body).items():
            self._collect(inner, f"{symbol}.{name}", made, enclosing, members)

    @property
    def left(self) -> Iterator[Source]:
        """The definitions at the top level that nobody has looked into."""
        return filter(None, map(source_of, self._symbols))

    @cached_property
    def reached_into(self) -> dict[Function, list[tuple[str, Binding]]]:
        """Function, or the module's body -> the names that functions inside it bind for it."""
        found: dict[Function, list[tuple[str, Binding]]] = {}
        if b"global " not in self.file.data and b"nonlocal " not in self.file.data:
            return found
        words = (b"global ", b"nonlocal ")
        for function in dict.fromkeys(each for word in words for each in self.holding(word, begins=True)):
            declared: dict[str, ast.Global | ast.Nonlocal] = {}
            statements: list[ast.Global | ast.Nonlocal] = [
                *function.of_kind(ast.Global),
                *function.of_kind(ast.Nonlocal),
            ]
            for node in statements:
                declared |= dict.fromkeys(node.names, node)
            for target, binding in bound_targets(function.own_nodes) if declared else ():
                if not isinstance(target, ast.Name) or target.id not in declared:
                    continue
                home = function.enclosing or self.body
                if isinstance(declared[target.id], ast.Global):
                    home = self.body
                kind = "elsewhere" if binding.kind == "value" else "opaque"
                bound = replace(binding, kind=kind)
                self.binders[bound] = function
                found.setdefault(home, []).append((target.id, bound))
        return found


class Program:
    """All modules under audit, parsed on demand, and the way from an import to a module."""

    def __init__(self, sources: Sources, picked: Picked, timings: Timings = OFF) -> None:
        self.sources = sources
        self.picked = dict(picked)
        """What rules look at."""
        self._timings = timings
        self.failures: dict[str, UnparsableError] = {}
        """Path -> why it could not be parsed."""
        self._modules: dict[str, Module | None] = {}
        self.imports = ImportResolver(sources)

    @cached_property
    def import_graph(self) -> ImportGraph:
        """Which files run together."""
        return ImportGraph(self.sources, self.imports)

    def module(self, path: str) -> Module | None:
        """The parsed file at `path`, or None where there is none or it cannot be parsed (see `failures`)."""
        if path not in self._modules:
            file = self.sources.get(path)
            module = None
            if file is not None:
                try:
                    with self._timings.part("parse"):
                        module = self._parsed(file)
                except UnparsableError as error:
                    self.failures[path] = error
            self._modules[path] = module
        return self._modules[path]

    def look_at(self, picked: Picked) -> bool:
        """Let rules look at more, and tell whether it is more."""
        changed = False
        for path, names in picked.items():
            before = self.picked.get(path)
            now = None if names is None or (before is None and path in self.picked) else names | (before or frozenset())
            if path in self.picked and now == before:
                continue
            changed = True
            self.picked[path] = now
            if (module := self._modules.get(path)) is not None:
                module.look_at(now)
        self.picked = dict(sorted(self.picked.items()))
        return changed

    def _parsed(self, file: SourceFile) -> Module:
        """Raises UnparsableError."""
        looked_at = self.picked.get(file.path, frozenset())
        if looked_at is not None and file.definitions:
            on_failure = partial(self._found_whole, file)
            try:
                return Module(file, parse_skeleton(file, file.definitions, on_failure), looked_at)
            except UnparsableError:
                pass  # what looked like a definition was none
        return Module(file, parse(file), looked_at)

    def parse_the_rest(self, file: SourceFile) -> None:
        """Parse what nobody has asked for of a file, to tell whether it can be. Raises UnparsableError."""
        if file.parses:
            return
        module = self._modules.get(file.path)
        if module is None or not all(each.stands_alone() for each in module.left):
            parse(file, slims=False)
        file.parses = True

    def _found_whole(self, file: SourceFile, span: Span, line: int) -> ast.stmt:
        """A definition that could not be parsed by itself, from the whole file; an empty one if that fails as well."""
        try:
            tops = parse(file).body
        except UnparsableError as error:
            self.failures[file.path] = error
            tops = []
        for top in tops:
            if top.__class__ is KINDS[span.kind] and top.lineno == line:
                return top
        return empty_definition(span, line)

    def let_go(self) -> None:
        """Release the text of the files: what is needed later is read again."""
        self.import_graph  # noqa: B018 - it is told from every file
        self.sources.let_go(self.picked)

    @property
    def parsed(self) -> list[Module]:
        return [module for _, module in sorted(self._modules.items()) if module is not None]

    def imported(self, name: str, importer: Module, level: int = 0) -> Module | None:
        """The project's module that `import name` means in `importer`; None where it cannot be parsed, too."""
        path = self.imports.located(name, importer.file, level)
        return self.module(path) if path is not None else None


def calls_by_name(modules: Iterable[Module]) -> dict[str, list[tuple[ast.Call, Function]]]:
    """Last name of the callee -> the calls of it in the modules, each with the function it stands in."""
    sites: dict[str, list[tuple[ast.Call, Function]]] = {}
    for module in modules:
        for function in module.all_functions:
            also = _stand_ins(function)
            for node in function.calls:
                name = simple_name(node.func)
                for each in (name, *also.get(name, ())):
                    sites.setdefault(each, []).append((node, function))
    return sites


def _stand_ins(function: Function) -> dict[str, set[str]]:
    """Variable that is set once -> the names of what it stands for: `step = warm_up if early else full`."""
    found: dict[str, set[str]] = {}
    for node in function.of_kind(ast.Assign):
        if len(node.targets) == 1 and isinstance(target := node.targets[0], ast.Name):
            arms = (node.value.body, node.value.orelse) if isinstance(node.value, ast.IfExp) else (node.value,)
            found[target.id] = set() if target.id in found else set(map(simple_name, arms)) - {"", target.id}
    return found
