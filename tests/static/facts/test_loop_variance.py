"""Which parts of a condition may change from iteration to iteration."""

from __future__ import annotations

import ast

import pytest

from verifygate.static.facts.loop_variance import asked


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("a and b", {"a", "b"}),
        ("not a", {"a"}),
        ("i % n == 0", {"i", "n"}),
        ("isinstance(a, B) and c", {"c"}),  # the type of a value stays
        ("hasattr(a, 'b')", set()),
        ("torch.is_tensor(a)", set()),
        ("a in table", {"a"}),  # so does what a table has keys for
        ("a not in table", {"a"}),
        ("f(a)", {"a", "f"}),
    ],
)
def test_what_a_condition_looks_at(text: str, names: set[str]) -> None:
    nodes = asked(ast.parse(text, mode="eval").body)
    assert {node.id for node in nodes if isinstance(node, ast.Name)} == names
