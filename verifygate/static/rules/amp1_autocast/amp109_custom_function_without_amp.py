"""A custom autograd function knows nothing of autocast.

## What it does
Reports a subclass of `torch.autograd.Function` without `custom_fwd` and `custom_bwd`, in a project that enters autocast
regions or has a framework run it in one, where both directions compute matrix products or convolutions (those of Triton
kernels too), or both call into the same compiled extension, and nothing casts: neither the function itself nor the code
that applies it. So too one whose backward runs once more what it was passed, as checkpointing does; that it casts the
incoming gradients changes nothing there. Certain: a backward with `custom_bwd` whose forward has no `custom_fwd`, where
nothing else can note what that reads.

## Impact
The backward stops with a dtype mismatch, or for want of what `custom_fwd` notes; where a forward is run once more, it
runs silently in float32.

## Why is this bad
Autocast is on during the forward and off during the backward, so products that are half precision in the forward get
operands of mixed dtypes in the backward. An extension gets half-precision features, which kernels written for float32
refuse or, if they read raw pointers, misread. A forward that is run once more in the backward comes out in float32: the
gradients are those of another forward, at twice its memory.

## What happens at run time
Raises in the backward, seen on torch 2.13 (CPU): `expected m1 and m2 to have the same dtype, but got: c10::Half !=
float`. An extension mostly raises at its first call under AMP, for a dtype that it does not implement. What is run once
more is silent: a linear layer that gave bfloat16 in the forward gives float32 in the backward.

## Example
```python
import torch


class Mixing(torch.autograd.Function):
    @staticmethod
    def forward(ctx, inputs, weight):
        ctx.save_for_backward(inputs, weight)
        return inputs @ weight

    @staticmethod
    def backward(ctx, gradient):
        inputs, weight = ctx.saved_tensors
        return gradient @ weight.T, inputs.T @ gradient


def train(model, loss_fn, optimizer, scaler, batches, device):
    for inputs, targets in batches:
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast(device, dtype=torch.float16):
            outputs = model(inputs)
            mixed = Mixing.apply(outputs, torch.eye(outputs.shape[-1]))
            loss = loss_fn(mixed, targets)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
```

## Use instead
```python
import torch


class Mixing(torch.autograd.Function):
    @staticmethod
    @torch.amp.custom_fwd(device_type="cpu")
    def forward(ctx, inputs, weight):
        ctx.save_for_backward(inputs, weight)
        return inputs @ weight

    @staticmethod
    @torch.amp.custom_bwd(device_type="cpu")
    def backward(ctx, gradient):
        inputs, weight = ctx.saved_tensors
        return gradient @ weight.T, inputs.T @ gradient


def train(model, loss_fn, optimizer, scaler, batches, device):
    for inputs, targets in batches:
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast(device, dtype=torch.float16):
            outputs = model(inputs)
            mixed = Mixing.apply(outputs, torch.eye(outputs.shape[-1]))
            loss = loss_fn(mixed, targets)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
```

## Fix safety
No automatic fix: `custom_fwd(device_type=..., cast_inputs=torch.float32)` is right for extensions that need float32,
plain `custom_fwd` for functions of torch's own operations; which of them is the author's to say.

## What it cannot see
Whether the function is reached inside a region, where not all of its calls can be followed, and which dtypes an
extension implements: such findings are likely. Functions that only reshape, gather or communicate are left
alone, and those that a test runs in float16. One that casts in its forward, and nowhere in its backward, is listed as
not followed.

## References
- https://docs.pytorch.org/docs/stable/notes/amp_examples.html#autocast-and-custom-autograd-functions
"""

import ast
import re
from collections.abc import Iterable, Iterator

from verifygate.model import Severity
from verifygate.static.analysis import Analysis
from verifygate.static.facts.framework_precisions import Precision
from verifygate.static.idioms.delegated_autocast import region_around
from verifygate.static.idioms.framework_loops import HOOK_WORDS, LOOP_WORDS
from verifygate.static.idioms.matrix_products import CAST_METHODS, CASTS, launches_products, multiplies
from verifygate.static.rule import Match, Rule
from verifygate.static.symbols.location import Location
from verifygate.static.symbols.program import Class, Function
from verifygate.static.syntax.names import last_name
from verifygate.static.syntax.traversal import walk
from verifygate.static.values.domain import ClassValue, ModuleValue

RULE = Rule(
    code="AMP109",
    name="custom-function-without-amp",
    severity=Severity.MEDIUM,
    summary="an autograd.Function is used in a project with autocast, without custom_fwd and custom_bwd",
    remedy="decorate forward with `torch.amp.custom_fwd(device_type=...)` and backward with `torch.amp.custom_bwd`",
    words=("autocast", *LOOP_WORDS, *HOOK_WORDS),
    beside=(r"autograd(?:\.function)?(?:\.| import )Function",),
    proof="raised-error",
)

_FUNCTIONS = frozenset({"torch.autograd.Function", "torch.autograd.function.Function"})
_IN_A_REGION = (Precision.FLOAT16, Precision.BFLOAT16)
_NOTED = "_fwd_used_autocast"
"""What `custom_fwd` notes on the context."""
_CASTS_BEFORE = r"\.float\(|float32|\.double\(|enabled=False"
_OF_TESTS = r"(^|/)(tests?/|test_\w+\.py$|test\.py$|\w+_test\.py$|conftest\.py$)"
_IN_HALF = rb"\.half\(|float16|autocast"
_PYTHON = r"^(torch|torchvision|torchaudio|numpy|math|einops|triton|builtins|functools|typing)(\.|$)"


def looks_beside(analysis: Analysis) -> bool:
    """Whether some region is ever on: of the project, or of a framework."""
    return analysis.written_regions.some_active or any(
        each.precisions is not None and not each.precisions.isdisjoint(_IN_A_REGION)
        for each in analysis.frameworks.instances
    )


def check(analysis: Analysis) -> Iterable[Match]:
    """Functions of a project in which some region is switched on."""
    if not looks_beside(analysis):
        return
    for module in analysis.modules:
        for made in module.classes.values() if not re.search(_OF_TESTS, module.path) else ():
            if not analysis.evaluator.outside_bases(made) & _FUNCTIONS:
                continue
            forward, backward = made.methods.get("forward"), made.methods.get("backward")
            if forward is None or backward is None or not made.node.bases:
                continue
            if (lone := _lone_decorator(made, forward, backward, analysis)) is not None:
                message = f"`custom_bwd` reads what `custom_fwd` notes, and the forward of `{made.symbol}` has none"
                yield Match(
                    Location(backward, lone), message, remedy="decorate forward with `torch.amp.custom_fwd` too"
                )
                continue
            reason = _reason(forward, backward, analysis)
            if not reason or _is_tested_in_half(made, analysis):
                continue
            if _casts(made, backward):
                _tell_if_the_backward_casts_nothing(made, backward, analysis)
                continue
            sites = _sites(made, analysis)
            if not analysis.written_regions.some_active and not any(_is_run_in_half(each, analysis) for each in sites):
                continue
            if not any(re.search(_CASTS_BEFORE, ast.unparse(site.node)) for site in sites) and not (
                sites and all(_stays_outside(site, analysis) for site in sites)
            ):
                message = f"`{made.symbol}` {reason} without `custom_fwd` and `custom_bwd`"
                again = _run_once_more(backward)
                at = Location(forward, made.node.bases[0] if again is None else made.node)
                steps = ((Location(backward, again), "runs once more, with autocast off"),) if again is not None else ()
                yield Match(at, message, certain=False, steps=steps)


def _lone_decorator(made: Class, forward: Function, backward: Function, analysis: Analysis) -> ast.expr | None:
    """The `custom_bwd` of torch's on a backward, where nothing else can have noted for the context what that reads."""
    if not _is_all_that_runs(made, forward, analysis):
        return None
    frame = analysis.evaluator.module_frame(backward.module)
    for each in getattr(backward.node, "decorator_list", ()):
        name = analysis.roles.known_name(each.func if isinstance(each, ast.Call) else each, frame) or ""
        if name.startswith("torch.") and name.endswith(".custom_bwd"):
            return each  # type: ignore[no-any-return]
    return None


def _is_all_that_runs(made: Class, forward: Function, analysis: Analysis) -> bool:
    """Whether a forward runs as it is written and keeps its context to itself.

    Nothing decorates it or its class, puts another in its place, or derives from the class; and no `setup_context`,
    which may have the decorator as well, is handed the context instead.
    """
    if made.node.keywords or made.node.decorator_list or "setup_context" in made.methods or not forward.parameters:
        return False
    if any(last_name(each) != "staticmethod" for each in getattr(forward.node, "decorator_list", ())):
        return False
    if any("__init_subclass__" in each.methods for each in analysis.evaluator.linearised(made)):
        return False
    if any(each is not made for each in analysis.evaluator.below(made)):
        return False
    if any("forward" in ast.unparse(each) for each in made.node.body if isinstance(each, ast.Assign)):
        return False
    name = re.escape(made.node.name.encode())
    replaced = re.compile(rb"\b" + name + rb"\.forward\s*=|\bsetattr\(\s*(\w+\.)*" + name + rb"\b")
    if any(replaced.search(file.data) for file in analysis.program.sources):
        return False
    context = forward.parameters[0].arg
    named = [node for node in walk(forward.node) if isinstance(node, ast.Name) and node.id == context]
    read = {node.value for node in walk(forward.node) if isinstance(node, ast.Attribute) and node.attr != _NOTED}
    return all(each in read for each in named)


def _tell_if_the_backward_casts_nothing(made: Class, backward: Function, analysis: Analysis) -> None:
    """Note a function that casts in its forward alone: its backward meets what was cast there, or what was not."""
    if "custom_fwd" not in ast.unparse(made.node) and not re.search(CASTS, ast.unparse(backward.node)):
        reason = f"whether the casts of `{made.symbol}` in its forward are all that its backward needs"
        analysis.gave_up(Location(backward, made.node), reason, RULE.code)


def _casts(made: Class, backward: Function) -> bool:
    """Whether the class is written for more than one dtype: it casts something, or is decorated for autocast.

    In a backward that runs once more what it was passed, a cast of the incoming gradients is none of what runs.
    """
    text = ast.unparse(made.node)
    if _run_once_more(backward) is not None:
        gradients = {each.arg for each in backward.parameters[1:]}
        for call in backward.calls:
            match call.func:
                case ast.Attribute(value=ast.Name(id=name), attr=attr) if name in gradients and attr in CAST_METHODS:
                    text = text.replace(ast.unparse(call), name)
    return re.search(CASTS, text) is not None


def _stays_outside(site: Function, analysis: Analysis) -> bool:
    """Whether the calls of what applies the function are known, and no region covers them or is open around it."""
    if site in analysis.region_coverage.reached or analysis.written_regions.by_function.get(site):
        return False
    if _is_run_in_half(site, analysis):
        return False
    return bool(analysis.call_graph.sites(site))


def _is_run_in_half(site: Function, analysis: Analysis) -> bool:
    """Whether a framework runs a function in a region that it leaves before the backward.

    Where a LightningModule goes backward by hand, it does so inside the region.
    """
    handle = region_around(site.node, site, analysis)
    return (
        handle is not None
        and bool(handle.may_be(*_IN_A_REGION))
        and not any(
            each.owner is not None and analysis.frameworks.steps_itself(each.owner)
            for each in analysis.call_graph.above(site)
        )
    )


def _is_tested_in_half(made: Class, analysis: Analysis) -> bool:
    """Whether a test that names the class speaks of float16: it is written for what a region hands it."""
    name = made.node.name.encode()
    tests = (file.data for file in analysis.program.sources if re.search(_OF_TESTS, file.path))
    return any(name in data and re.search(_IN_HALF, data) for data in tests)


def _reason(forward: Function, backward: Function, analysis: Analysis) -> str:
    """Why the dtype matters to both directions, or the empty string."""
    if _run_once_more(backward) is not None:
        return "runs what it was handed once more in its backward, outside of any region,"
    if multiplies(forward) and multiplies(backward):
        return "multiplies matrices in both directions"
    if launches_products(forward, analysis) and launches_products(backward, analysis):
        return "launches Triton kernels that multiply matrices in both directions"
    shared = _extensions(forward, analysis) & _extensions(backward, analysis)
    return f"calls the extension `{min(shared)}` in both directions" if shared else ""


def _run_once_more(backward: Function) -> ast.Call | None:
    """The call by which a backward, with autograd on, runs what the context keeps: `with enable_grad(): ctx.run(x)`."""
    context = backward.parameters[0].arg if backward.parameters else ""
    regions = [
        node for node in backward.withs if any(last_name(item.context_expr) == "enable_grad" for item in node.items)
    ]
    inside = [node for region in regions for node in walk(region) if isinstance(node, ast.Call)]
    for call in inside:
        match _named(call.func, backward):
            case ast.Attribute(value=ast.Name(id=name)) if name == context:
                return call
    return None


def _named(expr: ast.expr, function: Function) -> ast.expr:
    """What a name that is bound once stands for."""
    bindings = function.scope.names.get(expr.id, ()) if isinstance(expr, ast.Name) else ()
    only = bindings[0] if len(bindings) == 1 else None
    return only.expr if only is not None and only.kind == "value" and only.expr is not None else expr


def _extensions(function: Function, analysis: Analysis) -> set[str]:
    """Names of imported modules that the function calls, and that are no Python at hand."""
    found: set[str] = set()
    scope = function.module.body.scope
    for node in function.calls:
        if not isinstance(node.func, ast.Attribute):
            continue
        base = node.func.value
        if not isinstance(base, ast.Name):
            continue
        for binding in scope.names.get(base.id, ()):
            if binding.kind not in ("module", "member") or re.match(_PYTHON, binding.target.replace(":", ".")):
                continue
            values = analysis.evaluator.values(base, analysis.evaluator.root_frame(function))
            if not any(isinstance(value, ModuleValue | ClassValue) for value in values):
                found.add(base.id)
    return found


def _sites(made: Class, analysis: Analysis) -> list[Function]:
    """The project's functions that apply the class, by `made.apply` or by a name given to that; but for its tests."""
    names = {made.node.name}
    for target in made.module.body.of_kind(ast.Assign):
        value = target.value
        if isinstance(value, ast.Attribute) and value.attr == "apply" and last_name(value.value) == made.node.name:
            names |= {last_name(each) for each in target.targets}
    functions = dict.fromkeys(function for name in sorted(names) for function in _naming(name.encode(), analysis))
    return [
        function
        for function in functions
        if function.symbol and function.owner is not made and any(_applies(call, names) for call in function.calls)
    ]


def _naming(name: bytes, analysis: Analysis) -> Iterator[Function]:
    """What may name it: the rule's words need not have picked the code that applies a function."""
    for file in analysis.program.sources:
        names = not re.search(_OF_TESTS, file.path) and name in file.data
        module = analysis.program.module(file.path) if names else None
        yield from module.holding(name) if module is not None else ()


def _applies(call: ast.Call, names: set[str]) -> bool:
    if last_name(call.func) == "apply" and isinstance(call.func, ast.Attribute):
        return last_name(call.func.value) in names
    return last_name(call.func) in names
