"""Loops: back edges, exits, and unrolled iterations."""

from __future__ import annotations

import pytest

CASES = [
    pytest.param(
        """
        def train(batches):
            for batch in batches:
                optimizer.zero_grad()
                optimizer.step()
            scaler.update()
        """,
        [
            "start > zero_grad@3",
            "zero_grad@3 > optimizer.step@4",
            "optimizer.step@4 > zero_grad@3",
            "optimizer.step@4 > update@5",
        ],
        id="for: runs at least once",
    ),
    pytest.param(
        """
        def train(condition):
            while condition():
                optimizer.step()
            scaler.update()
        """,
        [
            "start > optimizer.step@3",
            "start > update@4",
            "optimizer.step@3 > optimizer.step@3",
            "optimizer.step@3 > update@4",
        ],
        id="while: may not run at all",
    ),
    pytest.param(
        """
        def train(batches):
            for batch in batches:
                if batch.empty:
                    continue
                optimizer.zero_grad()
                if batch.last:
                    break
                optimizer.step()
            scaler.update()
        """,
        [
            "start > zero_grad@5",
            "start > update@9",
            "zero_grad@5 > optimizer.step@8",
            "zero_grad@5 > update@9",
            "optimizer.step@8 > zero_grad@5",
            "optimizer.step@8 > update@9",
        ],
        id="break and continue",
    ),
    pytest.param(
        """
        def train(batches):
            for batch in batches:
                optimizer.zero_grad()
                if batch.last:
                    break
            else:
                optimizer.step()
            scaler.update()
        """,
        [
            "start > zero_grad@3",
            "zero_grad@3 > zero_grad@3",
            "zero_grad@3 > optimizer.step@7",
            "zero_grad@3 > update@8",
            "optimizer.step@7 > update@8",
        ],
        id="else: not after a break",
    ),
    pytest.param(
        """
        def train(first, second):
            one, two = torch.optim.SGD(first), torch.optim.SGD(second)
            for each in (one, two):
                scaler.step(each)
            scaler.update()
        """,
        [
            "start > scaler.step@4",
            "scaler.step@4 > scaler.step@4",
            "scaler.step@4 > update@5",
        ],
        id="optimizers written out: unrolled",
    ),
    pytest.param(
        """
        def train(batches):
            for batch in batches:
                for _ in range(1):
                    optimizer.zero_grad()
                optimizer.step()
        """,
        [
            "start > zero_grad@4",
            "zero_grad@4 > optimizer.step@5",
            "optimizer.step@5 > zero_grad@4",
        ],
        id="one iteration by a constant: no back edge",
    ),
]


@pytest.mark.parametrize(("code", "edges"), CASES)
def test_loops(code: str, edges: list[str], flow):
    assert flow(code) == edges
