"""Moves around the scaler: scaling, stepping, updating, its life, and the schedule that follows it."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from verifygate.model import Construct
from verifygate.model import ConstructKind as Kind
from verifygate.mutation.editable_source import Edit
from verifygate.mutation.site import Site
from verifygate.naming import names_a_schedule, speaks_of_a_scaler

Found = Iterator[tuple[ast.stmt | ast.expr, list[Edit]]]


def unscaled_backward(site: Site) -> Found:
    for call in site.calls(Kind.SCALE):
        if call.args:
            yield call, [site.code.expression(call, site.code.text(call.args[0]))]


def drop_scale_result(site: Site) -> Found:
    for call, backward, statement in _scaled_backwards(site):
        loss = site.code.text(call.args[0])
        rest = ", ".join(ast.unparse(each) for each in [*backward.args, *backward.keywords])
        yield call, [site.code.instead(statement, site.code.text(call), f"{loss}.backward({rest})")]


def keep_scaled_loss(site: Site) -> Found:
    """`loss = scaler.scale(loss); loss.backward()`: whoever reads `loss` later gets the scaled one."""
    for call, backward, statement in _scaled_backwards(site):
        loss = call.args[0]
        if isinstance(loss, ast.Name) and _read_later(site, statement, loss.id):
            rest = ", ".join(ast.unparse(each) for each in [*backward.args, *backward.keywords])
            lines = (f"{loss.id} = {site.code.text(call)}", f"{loss.id}.backward({rest})")
            yield call, [site.code.instead(statement, *lines)]


def _scaled_backwards(site: Site) -> Iterator[tuple[ast.Call, ast.Call, ast.stmt]]:
    """`scaler.scale(loss).backward()`: the inner call, the outer one, and the statement."""
    for backward, statement in site.bare(Kind.BACKWARD):
        inner = backward.func.value if isinstance(backward.func, ast.Attribute) else None
        if isinstance(inner, ast.Call) and inner.args and any(inner is call for call in site.calls(Kind.SCALE)):
            yield inner, backward, statement


def _read_later(site: Site, statement: ast.stmt, name: str) -> bool:
    """Whether a name is read behind a statement, and was not assigned anew before that."""
    for node in ast.walk(site.code.function(statement)):
        later = getattr(node, "lineno", 0) > (statement.end_lineno or 0)
        if later and isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Load):
            return True
    return False


def direct_step(site: Site) -> Found:
    for call, statement in site.statements(Kind.SCALER_STEP):
        if optimizer := site.optimizer_of(call):
            yield call, [site.code.instead(statement, f"{optimizer}.step()")]


def double_step(site: Site) -> Found:
    for call, statement in site.statements(Kind.SCALER_STEP):
        if optimizer := site.optimizer_of(call):
            yield call, [site.code.after(statement, f"{optimizer}.step()")]


def closure(site: Site) -> Found:
    for call in site.calls(Kind.SCALER_STEP):
        if len(call.args) == 1 and not call.keywords:
            text = f"{site.receiver_of(call)}.step({site.optimizer_of(call)}, lambda: None)"
            yield call, [site.code.expression(call, text)]


def drop_update(site: Site) -> Found:
    for call, statement in site.bare(Kind.UPDATE):
        yield call, [site.code.dropped(statement)]


def update_before_step(site: Site) -> Found:
    for call, statement in site.bare(Kind.UPDATE):
        step = site.beside(statement, Kind.SCALER_STEP, before=True)
        if step is not None:
            yield call, [site.code.dropped(statement), site.code.before(step, site.code.text(call))]


def update_per_backward(site: Site) -> Found:
    for call, statement in site.bare(Kind.UPDATE):
        for backward, made in site.bare(Kind.BACKWARD):
            if site.code.function(made) is site.code.function(statement):
                yield backward, [site.code.dropped(statement), site.code.after(made, site.code.text(call))]


def skip_by_hand(site: Site) -> Found:
    """A guard of one's own in a loop, whose way out leaves the scaler with an open window."""
    for call, statement in site.statements(Kind.SCALER_STEP):
        optimizer = site.optimizer_of(call)
        if optimizer and site.code.loop(statement) is not None:
            finite = (
                f'all(p.grad is None or p.grad.isfinite().all() for g in {optimizer}.param_groups for p in g["params"])'
            )
            lines = (f"if not {finite}:", f"    {optimizer}.zero_grad()", "    continue")
            yield call, [site.code.before(statement, *lines)]


# --- the schedule


def schedule_on_skip(site: Site) -> Found:
    """A scheduler's step that an `if` holds back where the scaler skipped comes behind that `if`."""
    for call, statement in _schedules(site):
        guards = [here for here in site.code.above(statement) if isinstance(here, ast.If) and _asks_for_skip(here)]
        loop = site.code.loop(statement)
        guards = [guard for guard in guards if loop is not None and loop in site.code.above(guard)]
        if guards and site.code.statement(guards[-1]) is guards[-1]:
            yield call, [site.code.dropped(statement), site.code.after(guards[-1], site.code.text(call))]


def _asks_for_skip(guard: ast.If) -> bool:
    return re.search(r"(?i)skip|scale|overflow|found_inf|stepped", ast.unparse(guard.test)) is not None


def schedule_first(site: Site) -> Found:
    for call, statement in _schedules(site):
        step = site.beside(statement, Kind.SCALER_STEP, before=True)
        if step is not None:
            yield call, [site.code.dropped(statement), site.code.before(step, site.code.text(call))]


def _schedules(site: Site) -> Iterator[tuple[ast.Call, ast.stmt]]:
    for call in site.code.calls:
        func = call.func
        if isinstance(func, ast.Attribute) and func.attr == "step" and names_a_schedule(site.code.text(func.value)):
            statement = site.code.statement(call)
            if isinstance(statement, ast.Expr):
                yield call, statement


# --- the scaler's life


def rebuilt(site: Site) -> Found:
    """The statement that makes a scaler comes again at the head of the loop behind it."""
    for statement in ast.walk(site.code.tree):
        if not isinstance(statement, ast.Assign) or site.code.statement(statement) is not statement:
            continue
        if site.code.text(statement.targets[0]) not in site.scalers or not isinstance(statement.value, ast.Call):
            continue
        block = site.code.block(statement)
        behind = block[block.index(statement) + 1 :]
        loop = next((each for each in behind if isinstance(each, ast.For | ast.While)), None)
        if loop is not None:
            yield statement, [site.code.before(loop.body[0], ast.unparse(statement))]


def not_saved(site: Site) -> Found:
    """The entry of a dictionary, or the statement, that saves the scaler's state."""
    for call in site.calls(Kind.STATE_SAVED):
        holder = next(iter(site.code.above(call)), None)
        if isinstance(holder, ast.Dict) and len(holder.keys) > 1:
            kept = [
                f"{ast.unparse(key)}: {ast.unparse(value)}" if key is not None else f"**{ast.unparse(value)}"
                for key, value in zip(holder.keys, holder.values, strict=True)
                if value is not call
            ]
            yield call, [site.code.expression(holder, f"{{{', '.join(kept)}}}")]
        elif isinstance(statement := site.code.statement(call), ast.Assign) and statement.value is call:
            yield call, [site.code.dropped(statement)]


def not_loaded(site: Site) -> Found:
    """The statement that loads the scaler's state goes, and with it the `if` that is there for nothing else."""
    for call, statement in site.bare(Kind.STATE_LOADED):
        yield call, [site.code.dropped(_with_its_guard(statement, site))]


def _with_its_guard(statement: ast.stmt, site: Site) -> ast.stmt:
    """The outermost `if` about the scaler that does nothing but load its state, and speak of it."""
    guarded = here = statement
    for outer in site.code.above(statement):
        alone = isinstance(outer, ast.Try) or (isinstance(outer, ast.If) and not outer.orelse)
        if not alone or not all(each is here or isinstance(each, ast.Expr) for each in outer.body):  # type: ignore[attr-defined]
            break
        here = outer  # type: ignore[assignment]
        if isinstance(outer, ast.If) and speaks_of_a_scaler(ast.unparse(outer.test)) and site.code.statement(here):
            guarded = here
    return guarded


def switched_off(site: Site) -> Found:
    """A scaler that is off under a region that may be float16: bfloat16 needs none, and no region needs none."""
    regions = [each for each in site.everywhere if each.kind is Kind.AUTOCAST]
    own = [each for each in regions if each.path == site.code.path]
    scales_itself = any(True for _ in site.calls(Kind.SCALE))
    if (scales_itself and not own and regions) or _are_bfloat16(own or regions):
        return
    for call in site.calls(Kind.GRAD_SCALER):
        yield call, [site.code.expression(call, _with_enabled(call, "False"))]


def _are_bfloat16(regions: list[Construct]) -> bool:
    return bool(regions) and all("bfloat16" in each.text for each in regions)


def always_on(site: Site) -> Found:
    """A scaler that is on whatever its switch says; not where what it scales asks for the switch as well."""
    for call in site.calls(Kind.GRAD_SCALER):
        switch = next((each.value for each in call.keywords if each.arg == "enabled"), None)
        if switch is not None and not _is_asked_before_scaling(ast.unparse(switch), site):
            yield call, [site.code.expression(call, _with_enabled(call, "True"))]


def _is_asked_before_scaling(switch: str, site: Site) -> bool:
    """Whether every loss in the file is scaled only where an `if` asks for the switch: `if args.amp:`."""
    arms = [list(site.code.above(call)) for call in site.calls(Kind.SCALE)]
    return bool(arms) and all(
        any(isinstance(each, ast.If | ast.IfExp) and switch in ast.unparse(each.test) for each in around)
        for around in arms
    )


def mispositioned(site: Site) -> Found:
    """Of the old `torch.cuda.amp.GradScaler` the scale is the first argument."""
    for call in site.calls(Kind.GRAD_SCALER, "torch.amp.GradScaler"):
        rest = [ast.unparse(each) for each in call.keywords if each.arg not in ("init_scale", "device")]
        yield call, [site.code.expression(call, f"{ast.unparse(call.func)}({', '.join(['1024.0', *rest])})")]


def _with_enabled(call: ast.Call, value: str) -> str:
    words = [ast.unparse(each) for each in call.args]
    words += [ast.unparse(each) for each in call.keywords if each.arg != "enabled"]
    return f"{ast.unparse(call.func)}({', '.join([*words, f'enabled={value}'])})"
