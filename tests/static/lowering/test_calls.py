"""Calls: inlined in the order of evaluation, each callee on a path of its own."""

from __future__ import annotations

import pytest

CASES = [
    pytest.param(
        """
        def inner(x):
            optimizer.step()

        def train(loss):
            inner(loss.backward())
            scaler.update()
        """,
        [
            "start > backward@5",
            "backward@5 > optimizer.step@2",
            "optimizer.step@2 > update@6",
        ],
        id="operands first",
    ),
    pytest.param(
        """
        def train(loss):
            later = lambda: optimizer.zero_grad()
            optimizer.step()
        """,
        [
            "start > optimizer.step@3",
        ],
        id="a lambda does not run where it is written",
    ),
    pytest.param(
        """
        def train(losses):
            [loss.backward() for loss in losses]
            optimizer.step()
        """,
        [
            "start > backward@2",
            "backward@2 > backward@2",
            "backward@2 > optimizer.step@3",
        ],
        id="a comprehension",
    ),
    pytest.param(
        """
        def one():
            optimizer.zero_grad()

        def two():
            optimizer.step()

        def train(a):
            (one if a else two)()
            scaler.update()
        """,
        [
            "start > zero_grad@2",
            "start > optimizer.step@5",
            "zero_grad@2 > update@9",
            "optimizer.step@5 > update@9",
        ],
        id="two callees",
    ),
    pytest.param(
        """
        def train(loss):
            def closure():
                optimizer.zero_grad()
                loss.backward()
                return loss

            optimizer.step(closure)
            scaler.update()
        """,
        [
            "start > zero_grad@3",
            "zero_grad@3 > backward@4",
            "backward@4 > optimizer.step@7",
            "optimizer.step@7 > update@8",
        ],
        id="a closure runs before the step",
    ),
    pytest.param(
        """
        def train(loss, amp):
            own = torch.amp.GradScaler("cuda", enabled=amp)
            own.step(optimizer)
            own.update()
        """,
        [
            "start > scaler.step@3",
            "start > optimizer.step@3",
            "scaler.step@3 > update@4",
            "optimizer.step@3 > update@4",
        ],
        id="a scaler that may be off",
    ),
    pytest.param(
        """
        def inner(loss):
            loss.backward()
            inner(loss)

        def train(loss):
            inner(loss)
            optimizer.step()
        """,
        [
            "start > backward@2",
            "backward@2 > optimizer.step@7",
        ],
        id="recursion is not followed",
    ),
]


@pytest.mark.parametrize(("code", "edges"), CASES)
def test_calls(code: str, edges: list[str], flow):
    assert flow(code) == edges
