"""The lines of keys in TOML: what a complaint about a configuration points at."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from verifygate.config.documents import Where, read_toml

CASES: dict[str, tuple[str, dict[Where, int]]] = {
    "tables and keys": (
        'a = 1\n\n[one]\nb = 2\n[one.two]\n  c = "x"  # d = 1\n',
        {("a",): 1, ("one",): 3, ("one", "b"): 4, ("one", "two"): 5, ("one", "two", "c"): 6},
    ),
    "dotted keys": (
        "a.b.c = 1\na.b.d = 2\n[t]\nx . y = 3\n",
        {
            ("a",): 1, ("a", "b"): 1, ("a", "b", "c"): 1, ("a", "b", "d"): 2,
            ("t",): 3, ("t", "x"): 4, ("t", "x", "y"): 4,
        },
    ),
    "quoted keys": (
        "\"a.b\" = 1\n[tool.'x # y'.\"u\\\"]v\"]\n\"\\u00e4\" = 2\n",
        {
            ("a.b",): 1, ("tool",): 2, ("tool", "x # y"): 2, ("tool", "x # y", 'u"]v'): 2,
            ("tool", "x # y", 'u"]v', "ä"): 3,
        },
    ),
    "a table in a table that has no line of its own, or a later one": (
        "[a.b]\nc = 1\n[a]\nd = 2\n[e.f]\n",
        {("a",): 3, ("a", "b"): 1, ("a", "b", "c"): 2, ("a", "d"): 4, ("e",): 5, ("e", "f"): 5},
    ),
    "multi-line strings": (
        'a = """\n[no]\nb = 1\n"""\nc = \'\'\'\n\\\'\'\'\nd = """one "" two \\""" e = 1\n""""\nf = "# no"\n',
        {("a",): 1, ("c",): 5, ("d",): 7, ("f",): 9},
    ),
    "a quote in a comment": ('# it\'s """\na = 1  # \'\'\'\nb = 2\n', {("a",): 2, ("b",): 3}),
    "arrays of several lines": (
        'a = [\n  "[",  # [\n  [1],\n  [2]\n]\nb = 1\nc = [ # ]\n [3] ]\n[t]\nd = 4\n',
        {("a",): 1, ("b",): 6, ("c",): 7, ("t",): 9, ("t", "d"): 10},
    ),
    "arrays of tables": (
        "[[w]]\na = 1\n[w.sub]\nb = 2\n[[w]]\na = 3\n[[w.deep]]\nc = 4\n[[w.deep]]\nc = 5\n",
        {
            ("w",): 1, ("w", 0): 1, ("w", 0, "a"): 2, ("w", 0, "sub"): 3, ("w", 0, "sub", "b"): 4,
            ("w", 1): 5, ("w", 1, "a"): 6, ("w", 1, "deep"): 7, ("w", 1, "deep", 0): 7, ("w", 1, "deep", 0, "c"): 8,
            ("w", 1, "deep", 1): 9, ("w", 1, "deep", 1, "c"): 10,
        },
    ),
    "inline tables": ("a = { b = 1, c = { d = 2 } }\ne = 3\n", {("a",): 1, ("e",): 2}),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_the_line_of_every_table_and_key(tmp_path: Path, name: str):
    text, expected = CASES[name]
    tomllib.loads(text)
    path = tmp_path / "verifygate.toml"
    path.write_text(text, encoding="utf-8")

    lines = read_toml(path, "verifygate.toml").lines

    assert lines == expected


def test_what_has_no_line_of_its_own_is_placed_at_what_is_around_it(tmp_path: Path):
    path = tmp_path / "verifygate.toml"
    path.write_text("\na = { b = [1, 2] }\n", encoding="utf-8")

    document = read_toml(path, "verifygate.toml")

    assert document.place(("a", "b", 1)) == "verifygate.toml:2"
    assert document.place(("x",)) == "verifygate.toml"
