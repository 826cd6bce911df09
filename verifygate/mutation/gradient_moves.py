"""Moves around the gradients: unscaling, clipping, zeroing."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from verifygate.model import ConstructKind as Kind
from verifygate.mutation.editable_source import Edit
from verifygate.mutation.site import Site

Found = Iterator[tuple[ast.stmt | ast.expr, list[Edit]]]


def drop_unscale(site: Site) -> Found:
    for call, statement in site.bare(Kind.UNSCALE):
        yield call, [site.code.dropped(statement)]


def clip_then_unscale(site: Site) -> Found:
    for call, statement in site.bare(Kind.UNSCALE):
        clip = site.beside(statement, Kind.CLIP, before=False)
        if clip is not None:
            yield call, site.code.moved(statement, clip)


def nan_to_num(site: Site) -> Found:
    yield from _written(site, "_p.grad.nan_to_num_(posinf=0.0, neginf=0.0)")


def value_clip(site: Site) -> Found:
    yield from _written(site, "_p.grad.clamp_(-1.0, 1.0)")


def _written(site: Site, change: str) -> Found:
    """Write all gradients while they are scaled: before `unscale_`, or before the step where there is none."""
    for kind in (Kind.UNSCALE, Kind.SCALER_STEP):
        for call, statement in site.statements(kind):
            if kind is Kind.SCALER_STEP and site.beside(statement, Kind.UNSCALE, before=True) is not None:
                continue
            if optimizer := site.optimizer_of(call):
                lines = (
                    f"for _g in {optimizer}.param_groups:",
                    '    for _p in _g["params"]:',
                    "        if _p.grad is not None:",
                    f"            {change}",
                )
                yield call, [site.code.before(statement, *lines)]


def double_unscale(site: Site) -> Found:
    for call, statement in site.bare(Kind.UNSCALE):
        yield call, [site.code.after(statement, site.code.text(call))]


def unscale_per_backward(site: Site) -> Found:
    for call, statement in site.bare(Kind.UNSCALE):
        for backward, made in site.bare(Kind.BACKWARD):
            if site.code.function(made) is site.code.function(statement) and made is not statement:
                edits = [site.code.dropped(statement), site.code.after(made, site.code.text(call))]
                loops = (site.code.loop(made), site.code.loop(statement))
                if loops[0] is not loops[1]:  # in one and the same loop it is where it belongs
                    yield backward, edits


def clip_after_step(site: Site) -> Found:
    """The clip that counts comes after the step; what its result is used for still measures the norm."""
    for call, statement in site.statements(Kind.CLIP):
        step = site.beside(statement, Kind.SCALER_STEP, before=False)
        if step is None or not call.args:
            continue
        late = site.code.after(step, site.code.text(call))
        if isinstance(statement, ast.Expr):
            yield call, [site.code.dropped(statement), late]
        elif len(call.args) > 1:
            yield call, [site.code.expression(call.args[1], 'float("inf")'), late]


def clip_nothing(site: Site) -> Found:
    for call, statement in site.statements(Kind.CLIP):
        parameters = call.args[0] if call.args else None
        if isinstance(parameters, ast.Call) and parameters.func is not None:
            edits = [site.code.expression(parameters, "_used")]
            text = site.code.text(parameters)
            yield call, [*edits, site.code.before(statement, f"_used = {text}", "_count = sum(1 for _ in _used)")]


def drop_zero_grad(site: Site) -> Found:
    """All that zero one optimizer's gradients in a function: a single one of two is often only the first turn's."""
    together: dict[tuple[ast.AST, str], list[tuple[ast.Call, ast.stmt]]] = {}
    for call, statement in site.bare(Kind.ZERO_GRAD) if site.names_scaler else ():
        together.setdefault((site.code.function(statement), site.receiver_of(call)), []).append((call, statement))
    for found in together.values():
        yield found[0][0], [site.code.dropped(statement) for _, statement in found]


def zero_before_step(site: Site) -> Found:
    for call, statement in site.statements(Kind.SCALER_STEP):
        if optimizer := site.optimizer_of(call):
            yield call, [site.code.before(statement, f"{optimizer}.zero_grad(set_to_none=False)")]
