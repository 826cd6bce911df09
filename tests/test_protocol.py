"""The table of the protocol: complete, silent on the correct order, and naming each wrong event."""

from __future__ import annotations

import ast
import re
from itertools import product
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import verifygate
from verifygate.protocol import TRANSITIONS, Event, Gradients, OptimizerState, ScalerState, advance

SCALED, PLAIN, UNSCALE, CLIP, STEP, DIRECT, CHECKED, UPDATE, ZERO = (
    Event.SCALED_BACKWARD,
    Event.PLAIN_BACKWARD,
    Event.UNSCALE,
    Event.CLIP,
    Event.SCALER_STEP,
    Event.OPTIMIZER_STEP,
    Event.CHECKED_STEP,
    Event.UPDATE,
    Event.ZERO_GRAD,
)
STATES = [OptimizerState(*pair) for pair in product(Gradients, ScalerState)]
CODE = re.compile(r"(AMP|KEY|PERF|GATE)\d{3}")
WINDOW = (SCALED, UNSCALE, CLIP, STEP, UPDATE, ZERO)


def violations(*events: Event) -> list[str]:
    """Rule codes in the order in which the events break them, from a state of which nothing is known."""
    state, found = OptimizerState(), []
    for event in events:
        state, fault = advance(state, event)
        if fault is not None:
            found.append(fault.violation)
    return found


@pytest.mark.parametrize("event", Event)
def test_every_event_may_happen_in_every_state(event: Event):
    """The table has a row for whatever a program does; no witness can fall through it."""
    assert len(STATES) == len(set(STATES)) > 1
    for state in STATES:
        after, _ = advance(state, event)
        assert isinstance(after, OptimizerState)


def test_every_row_is_reached():
    """A row that rows above it hide is a rule that never fires."""
    reached = set()
    for state, event in product(STATES, Event):
        after, fault = advance(state, event)
        for row in TRANSITIONS:
            fits = (
                row.event is event
                and (row.when_gradients is None or state.gradients in row.when_gradients)
                and (row.when_scaler is None or state.scaler in row.when_scaler)
            )
            if fits:
                reached.add(row)
                assert fault == row.fault
                assert after.gradients is (row.gradients or state.gradients)
                break
    assert reached == set(TRANSITIONS)


@given(st.lists(st.tuples(st.integers(1, 4), st.booleans(), st.booleans()), min_size=1, max_size=6))
def test_correct_windows_break_nothing(windows: list[tuple[int, bool, bool]]):
    """Any number of backwards, then unscale and clip or not, then step, update and zero: silent over many windows."""
    events: list[Event] = []
    for backwards, unscales, clips in windows:
        events += [SCALED] * backwards
        events += [UNSCALE] if unscales else []
        events += [CLIP] if unscales and clips else []
        events += [STEP, UPDATE, ZERO]
    assert violations(*events) == []


@given(st.lists(st.tuples(st.booleans(), st.booleans()), min_size=1, max_size=5))
def test_two_optimizers_share_a_scaler(windows: list[tuple[bool, bool]]):
    """One update for both, each unscaled or not: neither optimizer's track shows a violation."""
    tracks = {"d": OptimizerState(), "g": OptimizerState()}
    for unscales_d, unscales_g in windows:
        shared = [("d", SCALED), ("d", UNSCALE)] if unscales_d else [("d", SCALED)]
        shared += [("d", STEP), ("g", SCALED)]
        shared += [("g", UNSCALE), ("g", CLIP)] if unscales_g else []
        shared += [("g", STEP), ("d", UPDATE), ("g", UPDATE), ("d", ZERO), ("g", ZERO)]
        for name, event in shared:
            tracks[name], fault = advance(tracks[name], event)
            assert fault is None, (name, event)


def test_float32_training_breaks_nothing():
    """A loop without a scaler is none of the protocol's business."""
    assert violations(*(ZERO, PLAIN, CLIP, DIRECT) * 3) == []


def test_skipped_update_without_step_breaks_nothing():
    """unscale_ has recorded the check for inf, so update() may follow without a step."""
    assert violations(SCALED, UNSCALE, UPDATE, ZERO, *WINDOW) == []


@pytest.mark.parametrize(
    ("events", "rule"),
    [
        ((SCALED, CLIP, UNSCALE, STEP, UPDATE), "AMP201"),
        ((SCALED, CLIP, STEP, UPDATE), "AMP201"),
        ((SCALED, UNSCALE, UNSCALE, CLIP, STEP, UPDATE), "AMP202"),
        ((SCALED, STEP, UNSCALE, UPDATE), "AMP202"),
        ((SCALED, UNSCALE, SCALED, STEP, UPDATE), "AMP203"),
        ((PLAIN, STEP, UPDATE), "AMP206"),
        ((PLAIN, UNSCALE, CLIP, STEP, UPDATE), "AMP206"),
        ((SCALED, PLAIN, STEP, UPDATE), "AMP206"),
        ((SCALED, DIRECT, UPDATE), "AMP207"),
        ((SCALED, UNSCALE, DIRECT, UPDATE), "AMP207"),
        ((SCALED, CHECKED, UPDATE), "AMP207"),
        ((SCALED, STEP, DIRECT, UPDATE), "AMP208"),
        ((SCALED, STEP, ZERO, SCALED, STEP), "AMP209"),
        ((SCALED, UPDATE, STEP), "AMP210"),
        ((SCALED, UNSCALE, UPDATE, STEP), "AMP210"),
        ((SCALED, UNSCALE, UPDATE, UNSCALE, STEP), "AMP210"),
        ((SCALED, STEP, CLIP, UPDATE), "AMP211"),
        ((SCALED, ZERO, STEP, UPDATE), "AMP212"),
        ((SCALED, STEP, UPDATE, SCALED), "AMP212"),
    ],
)
def test_each_wrong_move_has_its_code(events: tuple[Event, ...], rule: str):
    """After a correct window, one wrong move is named by its rule, and by no other first."""
    assert violations(*WINDOW, *events)[:1] == [rule]


@given(st.lists(st.sampled_from(Event), max_size=40))
def test_any_program_can_be_walked(events: list[Event]):
    """No order of events raises, and every violation bears a code of the scaler's family."""
    assert all(rule.startswith("AMP2") for rule in violations(*events))


def test_no_module_but_the_rules_and_the_tables_spells_a_code():
    """Everything else names a rule by its member of an enum, so that a rule is one row, one member and one module."""
    package = Path(verifygate.__file__).parent
    tables = {package / "protocol.py", package / "rule_codes.py"}
    modules = [
        path
        for path in package.rglob("*.py")
        if path not in tables and not {package / "static/rules", package / "static/readers"}.intersection(path.parents)
    ]
    assert len(modules) > 300

    spelled = [
        f"{path.relative_to(package)}:{node.lineno} {node.value}"
        for path in modules
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and CODE.fullmatch(node.value)
    ]
    assert not spelled
