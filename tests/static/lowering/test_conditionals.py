"""Conditions: short-circuited branches, and those that cannot be taken."""

from __future__ import annotations

import pytest

CASES = [
    pytest.param(
        """
        def train(a, b):
            if a and b:
                optimizer.zero_grad()
            else:
                optimizer.step()
            scaler.update()
        """,
        [
            "start > zero_grad@3",
            "start > optimizer.step@5",
            "zero_grad@3 > update@6",
            "optimizer.step@5 > update@6",
        ],
        id="and: two ways to fail",
    ),
    pytest.param(
        """
        def train(loss):
            if False:
                optimizer.zero_grad()
            optimizer.step()
        """,
        [
            "start > optimizer.step@4",
        ],
        id="a constant: one branch",
    ),
    pytest.param(
        """
        def train(a):
            match a:
                case 1:
                    optimizer.zero_grad()
                case 2:
                    optimizer.step()
            scaler.update()
        """,
        [
            "start > zero_grad@4",
            "start > optimizer.step@6",
            "start > update@7",
            "zero_grad@4 > update@7",
            "optimizer.step@6 > update@7",
        ],
        id="match",
    ),
    pytest.param(
        """
        def train(a):
            optimizer.zero_grad() if a else optimizer.step()
            scaler.update()
        """,
        [
            "start > zero_grad@2",
            "start > optimizer.step@2",
            "zero_grad@2 > update@3",
            "optimizer.step@2 > update@3",
        ],
        id="conditional expression",
    ),
]


@pytest.mark.parametrize(("code", "edges"), CASES)
def test_conditionals(code: str, edges: list[str], flow):
    assert flow(code) == edges
