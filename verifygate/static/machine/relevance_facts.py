"""What one function says of itself: the names that it mentions, what it writes, what it gives back, and what it costs.

Facts are of the syntax alone, read once in one walk, without regard to the order of statements.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable
from typing import Any

from verifygate.base.records import field, record
from verifygate.static.syntax.deferred import DEFERRED
from verifygate.static.syntax.traversal import FIELDS

Definition = ast.FunctionDef | ast.AsyncFunctionDef
COMPUTED = "*"
"""Among the names of attributes that are written: any."""
_DEEPEST = 3
"""Loops inside each other that count."""
_ROUNDS = 4
"""How often a loop may run on the machine."""
_CHANGING = frozenset(
    """append appendleft extend insert pop popitem popleft remove clear sort reverse update setdefault add
    discard""".split()  # noqa: SIM905
)
"""Methods that change a list, dict or set."""
_ITERATED = ("__iter__", "__next__", "__getitem__")
_ENTERED = ("__enter__", "__exit__", "__aenter__", "__aexit__")
_PLAIN = ast.Name | ast.Attribute | ast.Constant | ast.expr_context | ast.Compare | ast.cmpop | ast.IfExp | ast.Tuple
_PLAIN |= ast.BoolOp | ast.boolop | ast.UnaryOp | ast.unaryop | ast.BinOp | ast.operator
"""Of expressions that call nothing."""
_FRESH = ast.List | ast.Dict | ast.Set | ast.ListComp | ast.DictComp | ast.SetComp | ast.Constant | ast.JoinedStr


@record(eq=False, frozen=False)
class Facts:
    """What one function does by itself, without those that it calls."""

    path: str
    node: ast.AST
    """Its definition, or the module."""
    name: str
    owner: str = ""
    """The class whose method it is."""
    bases: tuple[str, ...] = ()
    """Last names of the classes that its class derives from."""
    chains: set[str] = field(default_factory=set)
    """What is read: `x`, `self.model.half`; of an expression without a name at its root, `.half`."""
    calls: set[str] = field(default_factory=set)
    """What is called; an empty name for the result of an expression."""
    bound: set[str] = field(default_factory=set)
    """Its own variables."""
    rebound: set[str] = field(default_factory=set)
    """Those that a statement binds."""
    receiver: str = ""
    """The first parameter of a method."""
    from_calls: dict[str, set[str]] = field(default_factory=dict)
    """Variable -> the roots of what is called for its value."""
    shared: set[str] = field(default_factory=set)
    """Variables that may hold what others hold too."""
    implicit: set[str] = field(default_factory=set)
    """Methods that run without being named: `__getitem__`."""
    writes: dict[str, str] = field(default_factory=dict)
    """Attribute that is written -> the variable at the root of the expression."""
    changed: set[str] = field(default_factory=set)
    """Variables of which an element, or a list at an attribute, is changed."""
    declared: set[str] = field(default_factory=set)
    """Names that are declared global."""
    is_nonlocal: bool = False
    """It writes variables of the function around it."""
    adds_in_place: bool = False
    gives: bool = False
    """It gives something back other than None."""
    is_generator: bool = False
    cost: int = 0
    """Statements, those in loops as often as they may run."""
    makes_functions: bool = False
    inner: list[Facts] = field(default_factory=list)
    """Functions that are defined in it."""
    looked_up: set[str] = field(default_factory=set)
    """The attributes that it reads by `getattr`; COMPUTED for any."""

    @property
    def symbol(self) -> str:
        return f"{self.owner}.{self.name}" if self.owner else self.name


@record(eq=False, frozen=False)
class FileFacts:
    """The functions of one file."""

    path: str
    functions: list[Facts] = field(default_factory=list)
    """The body of the module first, under an empty name."""
    classes: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """Class -> the last names of its bases."""
    imports: list[ast.Import | ast.ImportFrom] = field(default_factory=list)
    attributes: set[str] = field(default_factory=set)
    """Attributes that are written, in the bodies of classes and by keyword too: a call by such a name may run whatever
    is handed on."""


def facts_of(path: str, tree: ast.Module) -> FileFacts:
    """The facts of a file."""
    found = FileFacts(path)
    body = Facts(path, tree, "")
    found.functions.append(body)
    _Walk(found, body).run(tree.body)
    return found


class _Walk:
    """The walk over one function."""

    def __init__(self, file: FileFacts, facts: Facts) -> None:
        self.file = file
        self.facts = facts
        self.ahead: list[tuple[Any, int]] = []

    def run(self, body: Iterable[ast.AST]) -> None:
        self.ahead = [(each, 0) for each in body]
        ahead, handlers = self.ahead, _HANDLERS
        cost = 0
        while ahead:
            node, depth = ahead.pop()
            kind = node.__class__
            if kind in DEFERRED:
                node.body  # noqa: B018 - asking parses it
                kind = node.__class__
            if kind in _STATEMENTS:
                cost += _ROUNDS**depth
            handler = handlers.get(kind)
            if handler is not None:
                handler(self, node, depth)
                continue
            for name in FIELDS[kind]:
                value = getattr(node, name)
                if value.__class__ is list:
                    for each in value:
                        if each is not None:
                            ahead.append((each, depth))
                elif value is not None:
                    ahead.append((value, depth))
        self.facts.cost += cost

    def below(self, node: ast.AST, depth: int, *left_out: str) -> None:
        for name in FIELDS[node.__class__]:
            if name not in left_out:
                value = getattr(node, name)
                if value.__class__ is list:
                    self.ahead += [(each, depth) for each in value if each is not None]
                elif value is not None:
                    self.ahead.append((value, depth))

    # -- names ---------------------------------------------------------------------------------------------------

    def chain(self, node: ast.expr, depth: int) -> str:
        """The dotted name of an expression; what is at its root, if that is no name, is gone through as well."""
        names: list[str] = []
        while node.__class__ is ast.Attribute:
            names.append(node.attr)
            node = node.value
        if node.__class__ is ast.Name:
            names.append(node.id)
        else:
            self.ahead.append((node, depth))
            names.append("")
        return ".".join(reversed(names))

    def name(self, node: ast.Name, _: int) -> None:
        if node.ctx.__class__ is ast.Load:
            self.facts.chains.add(node.id)
        else:
            self.facts.bound.add(node.id)
            self.facts.rebound.add(node.id)

    def attribute(self, node: ast.Attribute, depth: int) -> None:
        chain = self.chain(node, depth)
        if node.ctx.__class__ is ast.Load:
            self.facts.chains.add(chain)
        else:
            self.written(chain)

    def written(self, chain: str) -> None:
        root, _, rest = chain.partition(".")
        last = rest.rpartition(".")[2]
        self.facts.writes[last] = root
        self.file.attributes.add(last)
        if "." in rest or not root:
            self.facts.chains.add(chain.rpartition(".")[0])

    def subscript(self, node: ast.Subscript, depth: int) -> None:
        if node.ctx.__class__ is not ast.Load:
            self.facts.changed.add(_root(node))
        self.facts.implicit.add("__getitem__" if node.ctx.__class__ is ast.Load else "__setitem__")
        self.below(node, depth)

    def called(self, node: ast.Call, depth: int) -> None:
        chain = self.chain(node.func, depth) if node.func.__class__ in (ast.Name, ast.Attribute) else ""
        if chain:
            self.facts.chains.add(chain)
            last = chain.rpartition(".")[2]
            if last in _CHANGING and "." in chain:
                self.facts.changed.add(_root(node.func))
            elif last == "setattr" and len(node.args) > 1:
                name = node.args[1]
                is_known = isinstance(name, ast.Constant) and isinstance(name.value, str)
                written = name.value if is_known else COMPUTED  # type: ignore[attr-defined]
                self.facts.writes[written] = _root(node.args[0])
        else:
            self.ahead.append((node.func, depth))
        self.facts.calls.add(chain)
        self.file.attributes.update(each.arg for each in node.keywords if each.arg)
        if chain == "getattr" and len(node.args) > 1:
            name = node.args[1]
            is_known = isinstance(name, ast.Constant) and isinstance(name.value, str)
            self.facts.looked_up.add(name.value if is_known else COMPUTED)  # type: ignore[attr-defined]
        if chain in ("isinstance", "issubclass"):  # the classes are asked for, and not made
            self.ahead += [(each, depth) for each in node.args[:1]]
            return
        self.below(node, depth, "func")

    # -- statements ----------------------------------------------------------------------------------------------

    def assigned(self, node: ast.Assign | ast.AnnAssign, depth: int) -> None:
        value = node.value
        if isinstance(value, ast.Call) and isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            self.facts.from_calls.setdefault(node.targets[0].id, set()).add(_root(value.func))
        elif value is not None and not isinstance(value, _FRESH):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            for each in targets:
                for target in ast.walk(each) if each.__class__ is not ast.Name else (each,):
                    if target.__class__ is ast.Name:
                        self.facts.shared.add(target.id)
        self.below(node, depth, "annotation")

    def added(self, node: ast.AugAssign, depth: int) -> None:
        self.facts.adds_in_place = True
        if node.target.__class__ is ast.Name:
            self.facts.chains.add(node.target.id)
        self.below(node, depth)

    def loop(self, node: Any, depth: int) -> None:
        inside = min(depth + 1, _DEEPEST)
        self.ahead += [(each, inside) for each in (*node.body, *node.orelse)]
        if node.__class__ is ast.While:
            self.ahead.append((node.test, inside))
            return
        self.facts.implicit.update(_ITERATED)
        for target in ast.walk(node.target):
            if target.__class__ is ast.Name:
                self.facts.shared.add(target.id)
        self.ahead += [(node.target, inside), (node.iter, depth)]

    def comprehension(self, node: ast.comprehension, depth: int) -> None:
        self.facts.implicit.update(_ITERATED)
        self.below(node, depth)

    def managed(self, node: ast.With | ast.AsyncWith, depth: int) -> None:
        self.facts.implicit.update(_ENTERED)
        for item in node.items:
            if item.optional_vars is not None:
                self.facts.shared.update(each.id for each in ast.walk(item.optional_vars) if isinstance(each, ast.Name))
        self.below(node, depth)

    def given(self, node: ast.Return, depth: int) -> None:
        value = node.value
        if value is not None and not (isinstance(value, ast.Constant) and value.value is None):
            self.facts.gives = True
        self.below(node, depth)

    def yielded(self, node: ast.expr, depth: int) -> None:
        self.facts.is_generator = self.facts.gives = True
        self.below(node, depth)

    def declared(self, node: ast.Global, _: int) -> None:
        self.facts.declared.update(node.names)

    def reached(self, _: ast.Nonlocal, __: int) -> None:
        self.facts.is_nonlocal = True

    def imported(self, node: ast.Import | ast.ImportFrom, _: int) -> None:
        self.file.imports.append(node)

    # -- definitions ---------------------------------------------------------------------------------------------

    def defined(self, node: Definition, depth: int, owner: str = "", bases: tuple[str, ...] = ()) -> None:
        made = Facts(self.file.path, node, node.name, owner, bases)
        self.file.functions.append(made)
        self.facts.bound.add(node.name)
        if not owner:
            self.facts.inner.append(made)
            self.facts.makes_functions = True
        given = node.args
        defaults = (*given.defaults, *filter(None, given.kw_defaults))
        self.ahead += [(each, depth) for each in (*node.decorator_list, *defaults)]
        every = (*given.posonlyargs, *given.args, *given.kwonlyargs, given.vararg, given.kwarg)
        names = {each.arg for each in every if each is not None}
        made.receiver = next((each.arg for each in (*given.posonlyargs, *given.args) if owner), "")
        made.bound |= names
        made.shared |= names
        _Walk(self.file, made).run(node.body)

    def made(self, node: ast.ClassDef, depth: int) -> None:
        bases = tuple(name for each in node.bases if (name := _last(each)))
        self.file.classes[node.name] = (*self.file.classes.get(node.name, ()), *bases)
        self.facts.bound.add(node.name)
        computed = [each for each in node.bases if not isinstance(each, ast.Name | ast.Attribute)]
        self.ahead += [(each, depth) for each in (*computed, *node.decorator_list)]
        for each in node.body:
            if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef):
                each.body  # noqa: B018 - asking parses it
                self.defined(each, depth, node.name, bases)
                continue
            self.ahead.append((each, depth))
            for target in each.targets if isinstance(each, ast.Assign) else ():
                self.file.attributes.update(name.id for name in ast.walk(target) if isinstance(name, ast.Name))

    def function(self, node: ast.Lambda, depth: int) -> None:
        given = node.args
        every = (*given.posonlyargs, *given.args, *given.kwonlyargs, given.vararg, given.kwarg)
        names = {each.arg for each in every if each is not None}
        self.facts.bound |= names
        self.facts.shared |= names
        self.facts.makes_functions = True
        self.ahead += [(each, depth) for each in (node.body, *given.defaults)]


def plain(facts: Facts) -> list[ast.stmt]:
    """The statements of a function's own block that set an attribute to what is computed without a call.

    What they read are arguments that stay what they are, and variables of the module.
    """
    node = facts.node
    body = node.body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) else []
    found: list[ast.stmt] = []
    for each in body:
        if isinstance(each, ast.Assign) and all(isinstance(target, ast.Attribute) for target in each.targets):
            inside = [of for part in (each.value, *each.targets) for of in ast.walk(part)]
            names = {of.id for of in inside if isinstance(of, ast.Name)}
            if not names & facts.rebound and all(isinstance(of, _PLAIN) for of in inside):
                found.append(each)
    return found


def _root(node: ast.expr) -> str:
    """The variable at the root of an expression; empty for none."""
    while isinstance(node, ast.Attribute | ast.Subscript | ast.Starred):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""


def _last(node: ast.expr) -> str:
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


_STATEMENTS = frozenset(kind for kind in FIELDS if issubclass(kind, ast.stmt))
_HANDLERS: dict[type[ast.AST], Callable[[Any, Any, int], None]] = {
    ast.Name: _Walk.name,
    ast.Attribute: _Walk.attribute,
    ast.Subscript: _Walk.subscript,
    ast.Call: _Walk.called,
    ast.Assign: _Walk.assigned,
    ast.AnnAssign: _Walk.assigned,
    ast.AugAssign: _Walk.added,
    ast.For: _Walk.loop,
    ast.AsyncFor: _Walk.loop,
    ast.While: _Walk.loop,
    ast.comprehension: _Walk.comprehension,
    ast.With: _Walk.managed,
    ast.AsyncWith: _Walk.managed,
    ast.Return: _Walk.given,
    ast.Yield: _Walk.yielded,
    ast.YieldFrom: _Walk.yielded,
    ast.Global: _Walk.declared,
    ast.Nonlocal: _Walk.reached,
    ast.Import: _Walk.imported,
    ast.ImportFrom: _Walk.imported,
    ast.FunctionDef: _Walk.defined,
    ast.AsyncFunctionDef: _Walk.defined,
    ast.ClassDef: _Walk.made,
    ast.Lambda: _Walk.function,
}
