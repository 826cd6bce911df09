"""The trace matrix as a document of its own, for other tools: what `--format matrix` writes as matrix.json."""

from __future__ import annotations

from typing import Literal

from verifygate.model.base import Model
from verifygate.model.check import Status
from verifygate.model.links import Coverage, Link


class MatrixRow(Model):
    """One requirement, and all that it is traced to."""

    id: str
    title: str
    text: str
    group: str
    severity: str
    status: Status
    suspect: tuple[str, ...] = ()
    """What changed since the evidence was accepted, a sentence each."""
    evidence: tuple[str, ...] = ()
    """Classes of the evidence behind it, strongest first: `measured`, `executed`, `emulated`, `static`, `declared`."""
    links: tuple[Link, ...] = ()
    """Functions, classes and tests, by symbol and digest."""
    tests: tuple[str, ...] = ()
    events: tuple[str, ...] = ()
    """What recorded runs did in the linked code: `clip train.py:88`."""
    measurements: tuple[str, ...] = ()
    remedy: str = ""


class Matrix(Model):
    """The whole matrix, with where it comes from."""

    schema_version: Literal[1] = 1
    project: str
    specification: str
    commit: str
    tree_digest: str
    rows: tuple[MatrixRow, ...]
    coverage: Coverage
