"""What the rules find in their own cases when names say nothing: each predicate of `naming.py` answers False."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from test_rule_cases import ALL, expected, found

from verifygate import naming
from verifygate.static.registry import load_rules

Place = tuple[str, str, int, str]
"""Case, path, line, rule."""


@contextmanager
def without_names() -> Iterator[None]:
    """Every predicate of `naming.py` answers False, wherever it was imported."""
    predicates = {id(each) for name, each in vars(naming).items() if name.startswith(("names_", "speaks_", "reports_"))}
    load_rules()  # imports all that asks
    with pytest.MonkeyPatch.context() as patch:
        for module in [each for name, each in sys.modules.items() if name.startswith("verifygate.")]:
            for name, each in list(vars(module).items()):
                if id(each) in predicates:
                    patch.setattr(module, name, lambda _text: False)
        yield


def certain(case_marks: list[tuple[str, int, str, str]], case: str) -> set[Place]:
    return {(case, path, line, rule) for path, line, rule, certainty in case_marks if certainty == "certain"}


def compared() -> tuple[set[Place], set[Place], int]:
    """The certain findings that are gone without names, those that only appear then, and how many are expected."""
    wanted, seen = set[Place](), set[Place]()
    for case in ALL:
        code = case.parent.name
        if code.startswith("GATE"):
            continue
        root, names = (case, ["."]) if case.is_dir() else (case.parent, [case.name])
        wanted |= {each for each in certain(expected(root, case), f"{code}/{case.name}") if each[3] == code}
        with without_names():
            seen |= {each for each in certain(found(root, names, (code,)), f"{code}/{case.name}") if each[3] == code}
    return wanted - seen, seen - wanted, len(wanted)
