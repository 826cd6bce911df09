"""Names are the last resort: what is certain hardly changes where they say nothing."""

from __future__ import annotations

from without_names import compared

from verifygate import naming
from verifygate.static.amp import roles

GONE = 38
"""Certain findings of the rules' own cases that may rest on a name: a bound, which only ever goes down."""
APPEAR = 0
"""Certain findings in good cases that only a name has silenced."""


def test_what_is_certain_hardly_rests_on_names():
    gone, appear, of = compared()
    assert of > 500
    assert len(gone) <= GONE, sorted(gone)
    assert len(appear) <= APPEAR, sorted(appear)
    assert naming.names_a_scaler("scaler"), "the predicates are as they were"
    assert roles.names_a_scaler is naming.names_a_scaler
