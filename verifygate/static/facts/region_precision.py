"""Which dtype an autocast region computes in, and which regions a scaler serves."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from verifygate.base.records import record
from verifygate.static.amp.autocast_regions import WrittenRegion, WrittenRegions
from verifygate.static.amp.roles import Region, Roles
from verifygate.static.amp.scalers import MadeScaler
from verifygate.static.conditions.normal_form import expand
from verifygate.static.facts.dtypes import Dtype, Dtypes
from verifygate.static.symbols.enclosing import Nesting
from verifygate.static.symbols.import_graph import Companions
from verifygate.static.symbols.program import Function
from verifygate.static.symbols.scopes import Binding
from verifygate.static.symbols.sites import calm
from verifygate.static.syntax.names import last_name
from verifygate.static.syntax.traversal import is_none, walk
from verifygate.static.values.call_graph import Callers, Site
from verifygate.static.values.domain import Bound, DictLiteral, Frame, Literal, dict_items

_DEFAULTS = {"cuda": Dtype.FLOAT16, "cpu": Dtype.BFLOAT16, "mps": Dtype.FLOAT16, "xpu": Dtype.FLOAT16}
_SPEAKS_OF_DTYPE = r"(?i)b?f(?:loat|p)?_?16|half|dtype|precision|mixed"
_BFLOAT = r"(?i)bf(?:loat)?_?16"
_FLOAT = r"(?i)(?<![bB])(?:float|fp|f)_?16|half|(?<=['\"])16(?!\d)"
_AMONG_OTHERS = re.compile(rf"(?<!not )\bin [\[({{][^\])}}]*{_BFLOAT.removeprefix('(?i)')}", re.IGNORECASE)
_EVALUATES = r"(?i)eval|valid|test|infer|predict|sampl|generat|demo"
"""Names of methods whose results nobody differentiates."""
_IS_FLOAT32 = re.compile(
    r"""^[\w.\[\]'"]+ (?:(!=|==) ['"]?(?:torch\.)?(?:float32|fp32|f32|32|no|none)['"]?|(is not|is) none)$""",
    re.IGNORECASE,
)
_RUNS_BACKWARD = r"(?i)backward|optimi[sz]e|step|update|(?:^|_)opt(?:im)?$"
_MAX_STEPS = 5


@record(eq=False)
class Use:
    """One place at which a scaler comes to be, with the conditions on it and the training regions it serves."""

    scaler: MadeScaler
    call: ast.Call
    function: Function
    """The call that builds the scaler, or the object of the project that holds it."""
    regions: tuple[WrittenRegion, ...]


class Precision:
    def __init__(
        self, roles: Roles, regions: WrittenRegions, callers: Callers, companions: Companions, nesting: Nesting
    ) -> None:
        self.roles = roles
        self.evaluator = roles.evaluator
        self.regions = regions
        self.callers = callers
        self.dtypes = Dtypes(roles, callers)
        self.companions = companions
        self.nesting = nesting

    # -- dtypes ------------------------------------------------------------------------------------------------

    def may_be(self, dtype: Dtype) -> bool:
        """Whether some region that is ever on may compute in a dtype."""
        return any(region.is_active and dtype in self.of_region(region) for region in self.regions.all)

    def of_region(self, region: WrittenRegion) -> frozenset[Dtype]:
        """The dtypes that a region may compute in."""
        return frozenset().union(*map(self._of_context, _contexts(region))) or frozenset({Dtype.UNKNOWN})

    def goes_by_device(self, region: WrittenRegion) -> bool:
        """Whether a region names no dtype, so that its device decides: float16 on CUDA, bfloat16 on a CPU."""
        contexts = _contexts(region)
        return bool(contexts) and not any(self._names_dtype(each) for each in contexts)

    def _names_dtype(self, region: Region) -> bool:
        return (region.dtype is not None and not is_none(region.dtype.expr)) or any(self._spread(region))

    def _of_context(self, region: Region) -> frozenset[Dtype]:
        dtype = region.dtype
        if dtype is not None and not is_none(dtype.expr):
            return self.dtypes.of(dtype.expr, dtype.frame)
        spread = list(self._spread(region))
        if spread:
            return frozenset().union(*spread)
        return self._default(region.device)

    def _spread(self, region: Region) -> Iterator[frozenset[Dtype]]:
        """The dtypes in what a call takes as `**options`."""
        for call, frame in region.made.calls if region.made else ():
            for word in call.keywords:
                if word.arg is not None:
                    continue
                for value in self.evaluator.values(word.value, frame):
                    item = dict_items(value.node).get("dtype") if isinstance(value, DictLiteral) else None
                    known = isinstance(value, DictLiteral) and item is not None
                    yield self.dtypes.of(item, value.frame) if known else frozenset({Dtype.UNKNOWN})  # type: ignore[arg-type, union-attr]

    def _default(self, device: Bound | str | None) -> frozenset[Dtype]:
        if isinstance(device, str):
            return frozenset({_DEFAULTS.get(device, Dtype.UNKNOWN)})
        if device is None:
            return frozenset({Dtype.UNKNOWN})
        found = {
            _DEFAULTS.get(value.value.partition(":")[0], Dtype.UNKNOWN)
            if isinstance(value, Literal) and isinstance(value.value, str)
            else Dtype.UNKNOWN
            for value in self.evaluator.values(device.expr, device.frame)
        }
        if found == {Dtype.UNKNOWN} and self._is_cuda_by_default(device):
            return frozenset({Dtype.FLOAT16, Dtype.UNKNOWN})
        return frozenset(found if len(found) == 1 else {Dtype.UNKNOWN})  # the device decides, not a choice of dtypes

    def _is_cuda_by_default(self, device: Bound) -> bool:
        """Whether a device is a parameter of the function at hand that is CUDA where a call leaves it out."""
        function = device.frame.function
        if not isinstance(device.expr, ast.Name) or len(function.scope.names.get(device.expr.id, ())) != 1:
            return False
        default = function.default(device.expr.id)
        return isinstance(default, ast.Constant) and str(default.value).partition(":")[0] == "cuda"

    # -- conditions --------------------------------------------------------------------------------------------

    def explained(self, expr: ast.expr, frame: Frame, steps: int = 0, through: ast.Call | None = None) -> str:
        """The text of a condition, and of what its variables were given: by the call `through`, if there are many."""
        parts = [ast.unparse(expr)]
        if steps < _MAX_STEPS:
            for node in walk(expr):
                if isinstance(node, ast.Name | ast.Attribute):
                    for binding, home in self.dtypes.bindings(node, frame):
                        if binding.kind == "value" and binding.expr is not None:
                            parts.append(self.explained(binding.expr, home, steps + 2, through))
                        elif binding.kind == "parameter":
                            given = self._given(binding, home, through)
                            parts += [self.explained(each.expr, each.frame, steps + 2) for each in given]
        return " ; ".join(parts)

    def spelled_out(self, expr: ast.expr, frame: Frame, steps: int = 0) -> str:
        """The text of a condition in which each name that is only another one's stands as that: `cfg = self.cfg`."""
        text = ast.unparse(expr)
        for node in walk(expr) if steps < _MAX_STEPS else ():
            if isinstance(node, ast.Name) and (found := self.evaluator.lookup(node.id, frame)) and len(found[0]) == 1:
                given = found[0][0].expr
                if found[0][0].kind == "value" and isinstance(given, ast.Name | ast.Attribute):
                    meant = self.spelled_out(given, found[1], steps + 1)
                    text = re.sub(rf"(?<![\w.]){node.id}\b", meant, text)
        return text

    def _given(self, binding: Binding, home: Frame, through: ast.Call | None) -> list[Bound]:
        """What the one call of a function gives a parameter, or that of many which is meant."""
        sites = self.callers.sites(home.function)
        meant = [site.call for site in sites if site.call is through] or [site.call for site in sites]
        if len(meant) != 1:
            return []
        name = binding.node.arg  # type: ignore[attr-defined]
        return [bound for site, bound in self.callers.given(name, home.function) if site.call is meant[0]]

    def conditions(self, use: Use) -> list[tuple[str, bool]]:
        """What must hold for the scaler to be built and on: each explained, and whether it holds or fails."""
        found = []
        if use.scaler.enabled is not None:
            enabled = use.scaler.enabled
            found.append((self.explained(_plain(enabled.expr), enabled.frame, through=use.call), True))
        places = {(use.call, use.function), (use.scaler.call, use.scaler.function)}
        for call, function in sorted(places, key=lambda each: (each[1].module.path, each[0].lineno)):
            frame = self.evaluator.root_frame(function)
            for test, holds in self.nesting.conditions(call, function):
                found.append((self.explained(test, frame), holds))
        return found

    @staticmethod
    def asks_for_dtype(text: str) -> bool:
        return bool(re.search(_SPEAKS_OF_DTYPE, text))

    @staticmethod
    def asks_for_bfloat16_only(text: str, holds: bool) -> bool:
        """Whether a condition that holds says bfloat16, and nothing says float16."""
        first = text.partition(" ; ")[0]
        negated = "not " in first or "!=" in first
        return holds and not negated and bool(re.search(_BFLOAT, first)) and not re.search(_FLOAT, first)

    @staticmethod
    def asks_for_either(text: str, holds: bool) -> bool:
        """Whether a condition that holds has bfloat16 for an alternative of its own: `use_fp16 or use_bf16`."""
        parts = text.partition(" ; ")[0].split(" or ")
        halves = [bool(re.search(_BFLOAT, part)) for part in parts if not re.search(r"\bnot |!=", part)]
        others = [bool(re.search(_FLOAT, part)) for part in parts if not re.search(_BFLOAT, part)]
        return holds and any(halves) and any(others)

    @staticmethod
    def asks_for_float16_only(text: str, holds: bool) -> bool:
        """Whether a condition that holds says float16, and nothing says bfloat16."""
        first = text.partition(" ; ")[0]
        return holds and bool(re.search(_FLOAT, first)) and not re.search(_BFLOAT, first)

    def is_on_for_bfloat16_only(self, region: WrittenRegion) -> bool:
        """Whether a region is on only where a setting says bfloat16, whatever it computes in then."""
        enabled = region.region.enabled
        return enabled is not None and self.asks_for_bfloat16_only(self.explained(enabled.expr, enabled.frame), True)

    @staticmethod
    def allows_bfloat16(text: str, holds: bool) -> bool:
        """Whether a condition names bfloat16 among others, `in ("float16", "bfloat16")`, or rules out float32 alone."""
        first = text.partition(" ; ")[0]
        asked = _IS_FLOAT32.search(first) if Precision.asks_for_dtype(first) else None
        return (holds and bool(_AMONG_OTHERS.search(first))) or (
            asked is not None and ((asked[1] or asked[2]) in ("!=", "is not")) is holds
        )

    def rules_out_bfloat16(self, call: ast.Call, function: Function) -> bool:
        """Whether a call stands behind a condition that fails for bfloat16: `if dtype == torch.bfloat16: ... else:`."""
        frame = self.evaluator.root_frame(function)
        return any(self._rules_it_out(test, holds, frame) for test, holds in self.nesting.conditions(call, function))

    def _rules_it_out(self, test: ast.expr, holds: bool, frame: Frame) -> bool:
        test, frame = expand(test, frame, self.roles)
        match test:
            case ast.UnaryOp(op=ast.Not()):
                return self._rules_it_out(test.operand, not holds, frame)
            case ast.BoolOp():
                parts = [self._rules_it_out(each, holds, frame) for each in test.values]
                return any(parts) if isinstance(test.op, ast.And) is holds else all(parts)
            case ast.Compare(ops=[ast.NotEq() | ast.IsNot() | ast.NotIn()]):
                holds = not holds
        text = ast.unparse(test)
        return bool(re.search(_FLOAT if holds else _BFLOAT, text)) and not re.search(_BFLOAT if holds else _FLOAT, text)

    # -- which regions a scaler serves ---------------------------------------------------------------------------

    def use_of(self, scaler: MadeScaler) -> list[Use]:
        """Where the scaler comes to be, with the active regions whose losses it scales."""
        homes = [(scaler.call, scaler.function)]
        if scaler.function.owner is not None and scaler.function.name == "__init__" and not self._serves_own(scaler):
            homes = [(site.call, site.caller) for site in self._made_in(scaler.function)] or homes
        return [Use(scaler, call, function, tuple(self._served(function))) for call, function in homes]

    def _serves_own(self, scaler: MadeScaler) -> bool:
        """Whether the class that builds the scaler enters autocast itself: it is no mere wrapper."""
        return any(self.evaluator.may_be_of_one_object(region.function, scaler.function) for region in self.regions.all)

    def _made_in(self, constructor: Function) -> Iterator[Site]:
        """The calls that make an object, of the class itself or of one derived from it."""
        for site in self.callers.sites(constructor):
            if not self.evaluator.may_be_of_one_object(site.caller, constructor):
                yield site
            elif site.caller is not constructor and site.caller.name == "__init__":
                yield from self._made_in(site.caller)

    def _served(self, function: Function) -> Iterator[WrittenRegion]:
        files = self.companions.together(function.module.path)
        above = self.callers.above(function)
        keeps_it = bool(function.symbol) and self._scales_itself(function)  # another loop has a scaler of its own
        for region in self.regions.all:
            home = region.function
            if not region.is_active or home.module.path not in files or not (self.scales(home) or self._is_half(home)):
                continue
            same = self.evaluator.may_be_of_one_object(function, region.function)
            own = region.function.module is function.module and not function.symbol
            beside = self.callers.above(region.function)
            if same or own or (function in beside if keeps_it else above & beside):
                yield region

    def in_models_of(self, use: Use) -> list[WrittenRegion]:
        """The regions that models enter themselves, in their forward, where a loop's scaler serves no other."""
        above = self.callers.above(use.function)
        found = []
        for region in () if use.regions else self.regions.all:
            if region.is_active and region.function.name == "forward" and self._is_module(region.function):
                callers = self.callers.above(region.function)
                if any(self.scales(each) and above & self.callers.above(each) for each in callers):
                    found.append(region)
        return found

    def _is_module(self, method: Function) -> bool:
        bases = self.evaluator.outside_bases(method.owner) if method.owner else ()
        return any(base.startswith("torch.nn.") for base in bases)

    def scales(self, function: Function) -> bool:
        """Whether a function scales a loss: through a scaler, or a wrapper that is called like one.

        Functions inside it that have no loop of their own are parts of it: one computes the loss, another scales it.
        """
        while function.enclosing is not None and function.enclosing.symbol and not _loops(function):
            function = function.enclosing
        inner = function.module.beside(function) if function.symbol else []
        parts = [each for each in inner if each.enclosing is function and not _loops(each)]
        return any(self._scales_itself(each) for each in (function, *parts))

    def _is_half(self, function: Function) -> bool:
        """Whether a method computes a loss that another method of its class scales, which enters no region itself."""
        if function.owner is None or re.search(_EVALUATES, function.name) or calm(function):
            return False
        methods = [each for made in self.evaluator.linearised(function.owner) for each in made.methods.values()]
        scaling = [each for each in methods if each is not function and self._scales_itself(each)]
        return bool(scaling) and not any(self.regions.by_function.get(each) for each in scaling)

    def _scales_itself(self, function: Function) -> bool:
        """Whether it scales a loss, or hands one to a method that does: `fabric.backward(loss)`."""
        return self._holds_scale(function) or any(
            self._holds_scale(callee)
            for node in function.calls
            if (node.args or node.keywords) and re.search(_RUNS_BACKWARD, last_name(node.func))
            for callee in self.callers.callees(node, function)
        )

    def _holds_scale(self, function: Function) -> bool:
        frame = self.evaluator.root_frame(function)
        for node in function.calls:
            if isinstance(node.func, ast.Attribute) and node.func.attr == "scale":
                if self.roles.scaler(node.func.value, frame) is not None:
                    return True
            elif "scaler" in last_name(node.func).lower() and node.args and last_name(node.func).islower():
                return True
        return False


def _contexts(region: WrittenRegion) -> list[Region]:
    """Each of the contexts that a region may be, as if it were the only one."""
    made = region.region.made
    return [] if made is None else [Region(True, made=each) for each in (made, *region.region.instead)]


def _plain(expr: ast.expr) -> ast.expr:
    """What `True if it else False` asks."""
    match expr:
        case ast.IfExp(test=test, body=ast.Constant(value=True), orelse=ast.Constant(value=False)):
            return test
    return expr


def _loops(function: Function) -> bool:
    return bool(function.loops)
