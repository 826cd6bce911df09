"""`with`: every path out of an autocast region leaves it."""

from __future__ import annotations

import pytest

CASES = [
    pytest.param(
        """
        def train(loss):
            with torch.autocast("cuda"):
                loss.backward()
            optimizer.step()
        """,
        [
            "start > enter@2",
            "enter@2 > backward@3",
            "backward@3 > leave@2",
            "leave@2 > optimizer.step@4",
        ],
        id="a region",
    ),
    pytest.param(
        """
        def train(loss):
            with torch.autocast("cuda"), torch.autocast("cuda", enabled=False):
                loss.backward()
        """,
        [
            "start > enter@2",
            "enter@2 > enter@2",
            "enter@2 > backward@3",
            "backward@3 > leave@2",
            "leave@2 > leave@2",
        ],
        id="two regions",
    ),
    pytest.param(
        """
        def train(batches):
            for batch in batches:
                with torch.autocast("cuda"):
                    if batch.empty:
                        continue
                    batch.loss.backward()
                optimizer.step()
        """,
        [
            "start > enter@3",
            "enter@3 > backward@6",
            "enter@3 > leave@3",
            "backward@6 > leave@3",
            "leave@3 > optimizer.step@7",
            "leave@3 > enter@3",
            "optimizer.step@7 > enter@3",
        ],
        id="left by continue",
    ),
    pytest.param(
        """
        def inner(loss):
            with torch.autocast("cuda"):
                if loss.empty:
                    return
                loss.backward()

        def train(loss):
            inner(loss)
            optimizer.step()
        """,
        [
            "start > enter@2",
            "enter@2 > backward@5",
            "enter@2 > leave@2",
            "backward@5 > leave@2",
            "leave@2 > optimizer.step@9",
            "leave@2 > optimizer.step@9",
        ],
        id="left by return",
    ),
    pytest.param(
        """
        def train(loss):
            with contextlib.ExitStack() as stack:
                stack.enter_context(torch.autocast("cuda"))
                loss.backward()
            optimizer.step()
        """,
        [
            "start > enter@3",
            "enter@3 > backward@4",
            "backward@4 > leave@2",
            "leave@2 > optimizer.step@5",
        ],
        id="entered by an exit stack",
    ),
    pytest.param(
        """
        @torch.autocast("cuda")
        def inner(loss):
            loss.backward()

        def train(loss):
            inner(loss)
            optimizer.step()
        """,
        [
            "start > enter@1",
            "enter@1 > backward@3",
            "backward@3 > leave@2",
            "leave@2 > optimizer.step@7",
        ],
        id="by a decorator",
    ),
]


@pytest.mark.parametrize(("code", "edges"), CASES)
def test_with_statements(code: str, edges: list[str], flow):
    assert flow(code) == edges
