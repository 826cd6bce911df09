"""Which keys a dict surely lacks, and which are put into dicts that cannot be followed."""

from __future__ import annotations

import ast
from collections.abc import Callable

import pytest

from verifygate.static.analysis import Analysis

PROGRAM = """
from json import load

def run(trainer, given):
    plain = {{"a": 1, "inner": {{"b": 2}}}}
    either = {{"a": 1}} if given else {{"c": 1}}
    loaded = load(given)
    trainer.env["late"] = 1
    {0}
    show(plain, either, loaded)
"""


@pytest.mark.parametrize(
    ("statement", "text", "key", "lacks"),
    [
        ("pass", "plain", "z", True),
        ("pass", "plain", "a", False),
        ("plain['z'] = 1", "plain", "z", False),
        ("plain.update(z=1)", "plain", "z", False),
        ("plain.update(given)", "plain", "z", None),
        ("plain[given] = 1", "plain", "z", None),
        ("plain |= given", "plain", "z", None),
        ("del plain['a']", "plain", "z", True),
        ("print(plain)", "plain", "z", True),  # printing adds nothing
        ("pass", "plain['inner']", "z", True),
        ("pass", "plain['inner']", "b", False),
        ("plain['inner'] = given", "plain['inner']", "z", None),
        ("pass", "either", "z", True),
        ("pass", "either", "c", False),  # one of the two has it
        ("pass", "loaded", "z", None),
    ],
)
def test_a_dict_lacks_a_key(
    statement: str, text: str, key: str, lacks: bool | None, analysed: Callable[[str], Analysis]
) -> None:
    """`lacks`: None where the keys are not known."""
    analysis = analysed(PROGRAM.format(statement))
    frame = analysis.evaluator.root_frame(analysis.modules[0].functions["run"])
    found = analysis.dict_keys.lacking(key, ast.parse(text, mode="eval").body, frame)
    assert (None if found is None else bool(found)) is lacks


@pytest.mark.parametrize(
    ("text", "key", "written"), [("self.env", "late", True), ("self.env", "a", False), ("env", "late", False)]
)
def test_a_key_that_is_put_into_what_cannot_be_followed(
    text: str, key: str, written: bool, analysed: Callable[[str], Analysis]
) -> None:
    analysis = analysed(PROGRAM.format("pass"))
    read = ast.parse(text, mode="eval").body
    assert analysis.dict_keys.written_elsewhere(read, key, analysis.modules[0].functions["run"]) is written
