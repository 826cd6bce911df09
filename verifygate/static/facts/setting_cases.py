"""Case analysis over one setting: what a dtype and a condition come to for each word that the setting may be.

`torch.bfloat16 if args.dtype == "bfloat16" else torch.float16` is bfloat16 for that word and float16 for any other;
`args.dtype == "float16"` holds for one word. Both are worked out for every word that the source compares the setting
with, and for one that it does not.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from verifygate.base.records import record
from verifygate.static.amp.roles import Roles
from verifygate.static.facts.dtype_lattice import Dtype
from verifygate.static.facts.dtype_values import DtypeValues
from verifygate.static.symbols.enclosing import EnclosingNodes
from verifygate.static.syntax.names import last_name
from verifygate.static.syntax.traversal import walk
from verifygate.static.values.access_paths import AccessPath
from verifygate.static.values.domain import Bound, DictLiteral, Frame, dict_items

OTHER = "any other word"
_MAX_STEPS = 6
_ENDS = frozenset({"exit", "error", "_exit", "abort"})


@record(eq=False)
class Case:
    """One word that a setting may be."""

    setting: ast.expr
    path: AccessPath
    word: str


class SettingCases:
    """Answers for the settings of one set of modules."""

    def __init__(self, roles: Roles, dtype_values: DtypeValues, enclosing: EnclosingNodes) -> None:
        self.roles = roles
        self.dtype_values = dtype_values
        self.enclosing = enclosing

    def of(self, bounds: list[Bound]) -> list[Case]:
        """The words of the one setting that all of some expressions compare with words; empty where there is none."""
        settings: list[dict[AccessPath, Bound]] = []
        words: dict[AccessPath, set[str]] = {}
        for bound in bounds:
            here: dict[AccessPath, Bound] = {}
            for asked, frame, word in self._asked(bound.expr, bound.frame):
                path = self.roles.path(asked, frame)
                here.setdefault(path, Bound(asked, frame))
                words.setdefault(path, set()).add(word)
            settings.append(here)
        common = [path for path in settings[0] if all(path in each for each in settings)] if settings else []
        if len(common) != 1:
            return []
        path, asked_at = common[0], settings[0][common[0]]
        told = self._told(asked_at)
        known = sorted(told) if told else [*sorted(words[path]), OTHER]
        cases = [Case(asked_at.expr, path, word) for word in known]
        frames = {id(bound.frame): bound.frame for bound in (*bounds, asked_at)}.values()
        return [case for case in cases if not any(self._is_refused(case, frame) for frame in frames)]

    def truth(self, expr: ast.expr, frame: Frame, case: Case, steps: int = 0) -> bool | None:
        """Whether a condition holds in a case."""
        if steps > _MAX_STEPS:
            return None
        match expr:
            case ast.Constant(value=bool() as value):
                return value
            case ast.UnaryOp(op=ast.Not()):
                inner = self.truth(expr.operand, frame, case, steps)
                return None if inner is None else not inner
            case ast.BoolOp():
                parts = [self.truth(part, frame, case, steps) for part in expr.values]
                stop = isinstance(expr.op, ast.Or)
                return stop if stop in parts else (None if None in parts else not stop)
            case ast.Compare(left=left, ops=[op], comparators=[right]):
                return self._compared(left, op, right, frame, case, steps)
            case ast.IfExp():
                holds = self.truth(expr.test, frame, case, steps)
                return None if holds is None else self.truth(expr.body if holds else expr.orelse, frame, case, steps)
            case ast.Name() | ast.Attribute():
                reaching = self._reaching(expr, frame, case, steps)
                found = {self.truth(each, home, case, steps + 1) for each, home in reaching}
                return found.pop() if len(found) == 1 else self.roles.evaluator.truth(expr, frame)
        return self.roles.evaluator.truth(expr, frame)

    def dtypes(self, expr: ast.expr, frame: Frame, case: Case, steps: int = 0) -> frozenset[Dtype]:
        """The dtypes that an expression may stand for in a case; none where it raises."""
        if steps > _MAX_STEPS:
            return frozenset({Dtype.UNKNOWN})
        match expr:
            case ast.IfExp():
                holds = self.truth(expr.test, frame, case, steps + 1)
                arms = [each for each, dead in ((expr.body, holds is False), (expr.orelse, holds is True)) if not dead]
                return frozenset[Dtype]().union(*(self.dtypes(each, frame, case, steps + 1) for each in arms))
            case ast.Subscript(value=table, slice=key) if self._is_setting(key, frame, case):
                return self._item(table, frame, case, None)
            case ast.Call(func=ast.Attribute(value=table, attr="get"), args=[key, *rest]) if self._is_setting(
                key, frame, case
            ):
                return self._item(table, frame, case, rest[0] if rest else None)
            case ast.Name() | ast.Attribute():
                if found := list(self._reaching(expr, frame, case, steps)):
                    return frozenset[Dtype]().union(*(self.dtypes(each, home, case, steps + 1) for each, home in found))
        return self.dtype_values.of(expr, frame)

    def _item(self, table: ast.expr, frame: Frame, case: Case, default: ast.expr | None) -> frozenset[Dtype]:
        found: set[Dtype] = set()
        for value in self.roles.evaluator.values(table, frame):
            if not isinstance(value, DictLiteral):
                return frozenset({Dtype.UNKNOWN})
            item = dict_items(value.node).get(case.word)
            if item is not None:
                found |= self.dtype_values.of(item, value.frame)
            elif default is not None:
                found |= self.dtype_values.of(default, frame)
        return frozenset(found)

    def _compared(
        self, left: ast.expr, op: ast.cmpop, right: ast.expr, frame: Frame, case: Case, steps: int
    ) -> bool | None:
        if self._is_setting(left, frame, case):
            words = set(_words(right))
            if not words or isinstance(op, ast.In | ast.NotIn) is isinstance(right, ast.Constant):
                return None
            same = case.word in words
            return same if isinstance(op, ast.Eq | ast.Is | ast.In) else not same
        if not isinstance(op, ast.Eq | ast.Is | ast.NotEq | ast.IsNot):
            return None
        ours, theirs = self.dtypes(left, frame, case, steps + 1), self.dtype_values.of(right, frame)
        unclear = {Dtype.UNKNOWN, Dtype.OTHER, Dtype.HALF}
        if len(ours) != 1 or len(theirs) != 1 or (ours | theirs) & unclear:
            return None
        return (ours == theirs) is isinstance(op, ast.Eq | ast.Is)

    def _is_setting(self, expr: ast.expr, frame: Frame, case: Case) -> bool:
        return isinstance(expr, ast.Name | ast.Attribute | ast.Subscript) and self.roles.path(expr, frame) == case.path

    def _reaching(self, expr: ast.expr, frame: Frame, case: Case, steps: int) -> Iterator[tuple[ast.expr, Frame]]:
        """The definitions of a name that a case leaves, where all are written out: each in the arm that it takes.

        A condition around one may ask for the same name: it gets few of the steps.
        """
        found = list(self.dtype_values.bindings(expr, frame))
        if any(each.kind != "value" or each.expr is None or each.expr is expr for each, _ in found):
            return
        for binding, home in found:
            tests = self.enclosing.conditions(binding.node, home.function)
            begun = max(steps + 1, _MAX_STEPS - 2)
            if all(self.truth(test, home, case, begun) is not (not holds) for test, holds in tests):
                yield binding.expr, home  # type: ignore[misc]

    def _asked(self, expr: ast.expr, frame: Frame, steps: int = 0) -> Iterator[tuple[ast.expr, Frame, str]]:
        """The comparisons with words in an expression, in the definitions of its names, and around those."""
        if steps > _MAX_STEPS // 2:
            return
        for node in walk(expr):
            match node:
                case ast.Compare(left=ast.Name() | ast.Attribute() | ast.Subscript() as left, comparators=[right]):
                    yield from ((left, frame, word) for word in _words(right))
                case (
                    ast.Subscript(value=table, slice=key)
                    | ast.Call(func=ast.Attribute(value=table, attr="get"), args=[key, *_])
                ) if isinstance(key, ast.Name | ast.Attribute | ast.Subscript):
                    tables = (
                        each for each in self.roles.evaluator.values(table, frame) if isinstance(each, DictLiteral)
                    )
                    yield from ((key, frame, word) for each in tables for word in dict_items(each.node))
                case ast.Name() | ast.Attribute():
                    for binding, home in self.dtype_values.bindings(node, frame):
                        if binding.kind == "value" and binding.expr is not None and binding.expr is not expr:
                            yield from self._asked(binding.expr, home, steps + 1)
                            for test, _ in self.enclosing.conditions(binding.node, home.function):
                                yield from self._asked(test, home, steps + 1)

    def _told(self, asked: Bound) -> frozenset[str]:
        """The words that a setting can be: the `choices` of its option, or those that its annotation lists."""
        if choices := self.dtype_values.choices(last_name(asked.expr)):
            return choices
        nodes = [binding.node for binding, _ in self.dtype_values.bindings(asked.expr, asked.frame)]
        for node in nodes:
            match getattr(node, "annotation", None):
                case ast.Subscript(value=kind, slice=given) if last_name(kind) == "Literal":
                    return frozenset(_words(given))
        return frozenset()

    def _is_refused(self, case: Case, frame: Frame) -> bool:
        """Whether the function refuses a word: by an `assert`, or a branch that raises or ends the program."""
        for node in frame.function.own_nodes:
            match node:
                case ast.Assert(test=test) if self.truth(test, frame, case) is False:
                    return True
                case ast.If(test=test, body=body, orelse=orelse):
                    holds = self.truth(test, frame, case)
                    taken = body if holds else (orelse if holds is False else [])
                    if taken and _ends(taken[-1]):
                        return True
        return False


def _ends(statement: ast.stmt) -> bool:
    match statement:
        case ast.Raise():
            return True
        case ast.Expr(value=ast.Call(func=func)):
            return last_name(func) in _ENDS
    return False


def _words(expr: ast.expr) -> Iterator[str]:
    """The words of a constant, or of a tuple, list or set of them."""
    parts = expr.elts if isinstance(expr, ast.Tuple | ast.List | ast.Set) else [expr]
    yield from (each.value for each in parts if isinstance(each, ast.Constant) and isinstance(each.value, str))
