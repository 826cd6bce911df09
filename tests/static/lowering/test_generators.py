"""Generators: what runs them is lowered where they yield."""

from __future__ import annotations

import pytest

CASES = [
    pytest.param(
        """
        @contextlib.contextmanager
        def stepping():
            optimizer.zero_grad()
            yield
            optimizer.step()

        def train(loss):
            with stepping():
                loss.backward()
            scaler.update()
        """,
        [
            "start > zero_grad@3",
            "zero_grad@3 > backward@9",
            "backward@9 > optimizer.step@5",
            "optimizer.step@5 > update@10",
        ],
        id="context manager: body between its events",
    ),
    pytest.param(
        """
        @contextlib.contextmanager
        def stepping():
            optimizer.zero_grad()
            yield
            optimizer.step()

        def train(batches):
            for batch in batches:
                with stepping():
                    if batch.empty:
                        continue
                    batch.loss.backward()
                scaler.update()
        """,
        [
            "start > zero_grad@3",
            "zero_grad@3 > backward@12",
            "zero_grad@3 > optimizer.step@5",
            "backward@12 > optimizer.step@5",
            "optimizer.step@5 > zero_grad@3",
            "optimizer.step@5 > update@13",
            "update@13 > zero_grad@3",
        ],
        id="context manager left by continue: it resumes, then the loop goes on",
    ),
    pytest.param(
        """
        def stepped(loader):
            for batch in loader:
                optimizer.zero_grad()
                yield batch
                optimizer.step()

        def train(loader):
            for batch in stepped(loader):
                batch.loss.backward()
            scaler.update()
        """,
        [
            "start > zero_grad@3",
            "zero_grad@3 > backward@9",
            "backward@9 > optimizer.step@5",
            "optimizer.step@5 > zero_grad@3",
            "optimizer.step@5 > update@10",
        ],
        id="loop: an iteration at each yield",
    ),
    pytest.param(
        """
        def stepped(loader):
            for batch in loader:
                optimizer.zero_grad()
                yield batch
                optimizer.step()

        def train(loader):
            for batch in stepped(loader):
                if batch.last:
                    break
                batch.loss.backward()
            scaler.update()
        """,
        [
            "start > zero_grad@3",
            "zero_grad@3 > backward@11",
            "zero_grad@3 > update@12",
            "backward@11 > optimizer.step@5",
            "optimizer.step@5 > zero_grad@3",
            "optimizer.step@5 > update@12",
        ],
        id="loop left by break: the generator does not resume",
    ),
    pytest.param(
        """
        def inner():
            optimizer.zero_grad()
            yield

        def outer():
            yield from inner()
            optimizer.step()

        def train(loss):
            for _ in outer():
                loss.backward()
        """,
        [
            "start > zero_grad@2",
            "zero_grad@2 > backward@11",
            "backward@11 > optimizer.step@7",
        ],
        id="yield from",
    ),
    pytest.param(
        """
        @contextlib.contextmanager
        def guarded(lock):
            held = lock.grad
            yield held

        def resumed(path, lock):
            if path:
                with guarded(lock) as held:
                    if held:
                        return
            optimizer.zero_grad()

        def train(path, lock, loss):
            resumed(path, lock)
            loss.backward()
        """,
        ["start > zero_grad@11", "start > backward@15", "zero_grad@11 > backward@15"],
        id="a manager without events whose body returns",
    ),
    pytest.param(
        """
        def guarded(locks):
            for lock in locks:
                held = lock.grad
                yield held

        def resumed(path, locks):
            if path:
                for held in guarded(locks):
                    if held:
                        return
            optimizer.zero_grad()

        def train(path, locks, loss):
            resumed(path, locks)
            loss.backward()
        """,
        ["start > zero_grad@11", "start > backward@15", "zero_grad@11 > backward@15"],
        id="a loop over a generator without events that returns",
    ),
]


@pytest.mark.parametrize(("code", "edges"), CASES)
def test_generators(code: str, edges: list[str], flow):
    assert flow(code) == edges
