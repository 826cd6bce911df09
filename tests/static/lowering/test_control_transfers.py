"""`return`, `raise` and `try`: which paths join again."""

from __future__ import annotations

import pytest

CASES = [
    pytest.param(
        """
        def train(loss):
            optimizer.zero_grad()
            try:
                loss.backward()
            except RuntimeError:
                scaler.update()
            else:
                optimizer.step()
            finally:
                optimizer.zero_grad()
        """,
        [
            "start > zero_grad@2",
            "zero_grad@2 > backward@4",
            "zero_grad@2 > update@6",
            "backward@4 > optimizer.step@8",
            "optimizer.step@8 > zero_grad@10",
            "update@6 > zero_grad@10",
        ],
        id="try: a handler instead of the body",
    ),
    pytest.param(
        """
        def train(loss):
            optimizer.zero_grad()
            try:
                loss.backward()
            except RuntimeError:
                scaler.update()
                raise
            optimizer.step()
        """,
        [
            "start > zero_grad@2",
            "zero_grad@2 > backward@4",
            "zero_grad@2 > update@6",
            "backward@4 > optimizer.step@8",
        ],
        id="raise ends the path",
    ),
    pytest.param(
        """
        def inner(loss):
            if loss.empty:
                return
            loss.backward()

        def train(loss):
            inner(loss)
            optimizer.step()
        """,
        [
            "start > backward@4",
            "start > optimizer.step@8",
            "backward@4 > optimizer.step@8",
        ],
        id="return: behind the call",
    ),
    pytest.param(
        """
        def inner(loss):
            loss.backward()
            return
            scaler.update()

        def train(loss):
            inner(loss)
            optimizer.step()
        """,
        [
            "start > backward@2",
            "backward@2 > optimizer.step@8",
        ],
        id="nothing follows a return",
    ),
]


@pytest.mark.parametrize(("code", "edges"), CASES)
def test_control_transfers(code: str, edges: list[str], flow):
    assert flow(code) == edges
