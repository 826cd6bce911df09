"""Moves around autocast and dtypes."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from verifygate.model import ConstructKind as Kind
from verifygate.mutation.editable_source import Edit
from verifygate.mutation.site import Site

Found = Iterator[tuple[ast.stmt | ast.expr, list[Edit]]]
_EVALUATES = re.compile(r"eval|valid|test|infer|predict|sampl|generat|visual|demo", re.IGNORECASE)
_LOSS = re.compile(r"loss|crit(?!ic)|entropy|log_softmax|kl_div", re.IGNORECASE)
_NO_GRADIENTS = ("no_grad", "inference_mode")
_FOR_ONE_DEVICE = ("torch.cuda.amp.autocast", "torch.cpu.amp.autocast")
_DTYPES = {"float16": "bfloat16", "half": "bfloat16", "bfloat16": "float16"}


def switched_off(site: Site) -> Found:
    """A context that is off, where a scaler may be on for what is computed in it."""
    if not any(each.kind is Kind.SCALE for each in site.everywhere):
        return
    for call in site.calls(Kind.AUTOCAST):
        if not _may_train(site, call) or "float32" in ast.unparse(call):
            continue
        by_position = call.args[:2] if _takes_device(site, call) else []
        words = [ast.unparse(each) for each in by_position]
        words += [f"dtype={ast.unparse(each)}" for each in call.args[1:2] if not by_position]
        words += [ast.unparse(each) for each in call.keywords if each.arg != "enabled"]
        yield call, [site.code.expression(call, f"{ast.unparse(call.func)}({', '.join([*words, 'enabled=False'])})")]


def _takes_device(site: Site, call: ast.Call) -> bool:
    """Whether the device type comes first; the functions that bear it in their name begin with `enabled`."""
    return all(call is not each for name in _FOR_ONE_DEVICE for each in site.calls(Kind.AUTOCAST, name))


def _may_train(site: Site, call: ast.Call) -> bool:
    """Whether a context is entered for what is scaled, as far as one file tells: not for an evaluation."""
    around = list(site.code.above(call))
    contexts = [item.context_expr for each in around if isinstance(each, ast.With) for item in each.items]
    for each in around:
        contexts += getattr(each, "decorator_list", ())
    named = " ".join([getattr(site.code.function(call), "name", ""), *map(ast.unparse, contexts)])
    evaluates = _EVALUATES.search(named) is not None and "train" not in named
    if evaluates or any(word in named for word in _NO_GRADIENTS):
        return False
    region = next((each for each in around if isinstance(each, ast.With)), None)
    if region is None or all(item.context_expr is not call for item in region.items):
        return site.names_scaler  # it is kept, for whatever the file does
    backwards = any(True for _ in site.calls(Kind.BACKWARD))
    return (site.names_scaler or not backwards) and _leaves_something(site, region)


def _leaves_something(site: Site, region: ast.With) -> bool:
    """Whether what is computed in a region is returned, or read behind it."""
    nodes = list(ast.walk(region))
    made = {node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    end = region.end_lineno or region.lineno
    behind = (node for node in ast.walk(site.code.function(region)) if getattr(node, "lineno", 0) > end)
    read = {node.id for node in behind if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)}
    return not made.isdisjoint(read) or any(isinstance(node, ast.Return) for node in nodes)


def wrong_device(site: Site) -> Found:
    """Another device type: what runs on the CPU is told to be elsewhere, and the other way round.

    One that is worked out becomes what it never is: `"cuda"` would be right wherever there is CUDA.
    """
    for call in site.calls(Kind.AUTOCAST):
        device = next((each.value for each in call.keywords if each.arg == "device_type"), None)
        device = device or (call.args[0] if call.args and _takes_device(site, call) else None)
        if device is not None:
            known = str(device.value).partition(":")[0] if isinstance(device, ast.Constant) else ""
            other = {"cuda": '"cpu"', "cpu": '"cuda"'}.get(known, '"xpu"')
            yield call, [site.code.expression(device, other)]


def backward_inside(site: Site) -> Found:
    """A backward that follows a region moves into it."""
    for call, statement in site.statements(Kind.BACKWARD):
        block = site.code.block(statement)
        at = block.index(statement)
        before = block[at - 1] if at else None
        if before is not None and before in site.regions:
            inner = site.code.indent(before.body[-1])
            lines = [f"{inner}{line.strip()}" for line in site.code.source(statement)]
            if len(lines) == 1:
                yield call, [Edit(statement.lineno, statement.end_lineno or statement.lineno, lines)]


def step_inside(site: Site) -> Found:
    """The step gets a region of its own, the one of the forward in the same function."""
    for call, statement in site.statements(Kind.SCALER_STEP):
        function = site.code.function(statement)
        region = next((each for each in site.regions if site.code.function(each) is function), None)
        if region is not None and site.region_of(statement) is None:
            yield call, [site.code.deeper([statement], f"with {ast.unparse(region.items[0].context_expr)}:")]


def not_entered(site: Site) -> Found:
    for region in site.regions:
        if len(region.items) == 1 and region.items[0].optional_vars is None and _trains(site, region):
            yield region, [_header(site, region, f"{ast.unparse(region.items[0].context_expr)}")]


def _trains(site: Site, region: ast.With) -> bool:
    """Whether the function around a region makes a backward."""
    function = site.code.function(region)
    return any(site.code.function(call) is function for call in site.calls(Kind.BACKWARD))


def _header(site: Site, region: ast.With, first: str) -> Edit:
    """`if True:` in the place of a region's header, behind another statement."""
    last = region.body[0].lineno - 1
    indent = site.code.indent(region)
    lines = [f"{indent}{first}"] if first else []
    return Edit(region.lineno, last, [*lines, f"{indent}if True:"])


def around_loop(site: Site) -> Found:
    """The region of the forward is put around the outermost loop as well."""
    for region in site.regions:
        loop = site.code.loop(region, outermost=True)
        if loop is not None and _trains(site, region) and site.code.statement(loop) is loop:
            yield region, [site.code.deeper([loop], f"with {ast.unparse(region.items[0].context_expr)}:")]


def loss_outside(site: Site) -> Found:
    """The last statement of a region comes behind it, where that works out a loss of what the region computed."""
    for region in site.regions:
        last = region.body[-1]
        if len(region.body) > 1 and isinstance(last, ast.Assign) and site.code.statement(last) is last:
            if not _may_be_half(region) or not _is_loss_of(last.value, region.body[:-1]):
                continue
            indent, own = site.code.indent(region), site.code.indent(last)
            lines = [f"{indent}{line[len(own) :]}" for line in site.code.source(last)]
            yield last, [Edit(last.lineno, last.end_lineno or last.lineno, lines)]


def _may_be_half(region: ast.With) -> bool:
    """Whether a region may compute in float16, as far as its own line tells."""
    text = " ".join(ast.unparse(item.context_expr) for item in region.items)
    return not re.search(r"enabled=False|bfloat16|float32", text)


def _is_loss_of(value: ast.expr, before: list[ast.stmt]) -> bool:
    """Whether a loss is called with something that other statements made: a sum of losses is no worse elsewhere."""
    made = {
        node.id
        for statement in before
        for node in ast.walk(statement)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    }
    calls = [node for node in ast.walk(value) if isinstance(node, ast.Call) and _LOSS.search(ast.unparse(node.func))]
    given = (node for call in calls for argument in call.args for node in ast.walk(argument))
    return any(isinstance(node, ast.Name) and node.id in made for node in given)


def half_model(site: Site) -> Found:
    """The model becomes float16 before its optimizer is made; not where nothing in sight scales, or apex casts."""
    backwards = any(True for _ in site.calls(Kind.BACKWARD))
    if (backwards and not site.names_scaler) or any("amp.initialize(" in line for line in site.code.lines):
        return
    for call in site.code.calls:
        text = ast.unparse(call.func)
        made = text.startswith(("torch.optim.", "optim.")) and "lr_scheduler" not in text
        if made and (model := site.model_of(call)) and (statement := site.code.statement(call)) is not None:
            yield call, [site.code.before(statement, f"{model}.half()")]


def half_inputs(site: Site) -> Found:
    """What a region gives its model is cast to half first."""
    for region in site.regions:
        for call in ast.walk(region.body[0]):
            if isinstance(call, ast.Call) and _is_model(call.func) and call.args and isinstance(call.args[0], ast.Name):
                yield region, [site.code.expression(call.args[0], f"{call.args[0].id}.half()")]
                break


def _is_model(func: ast.expr) -> bool:
    return ast.unparse(func) in ("model", "net", "self.model", "self.net")


def other_dtype(site: Site) -> Found:
    """A dtype that is written where the region or the scaler is made; a table of names is somebody's choice."""
    for call in (*site.calls(Kind.AUTOCAST), *site.calls(Kind.GRAD_SCALER)):
        for node in ast.walk(call):
            if isinstance(node, ast.Attribute) and ast.unparse(node.value) == "torch" and node.attr in _DTYPES:
                yield node, [site.code.expression(node, f"torch.{_DTYPES[node.attr]}")]
