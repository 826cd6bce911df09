"""The page about requirements: each of its examples is read and traced, and it leaves no query out."""

from __future__ import annotations

import re
import textwrap
import tomllib
from pathlib import Path

import pytest
import yaml
from requirement_world import World
from write_docs import DOCS

from verifygate.config.documents import read_toml
from verifygate.config.settings import FileSettings
from verifygate.model import Status
from verifygate.requirements.queries import Oracle, QueryKind, RunEvent, RunQuery, ScaleBehaviour
from verifygate.requirements.spec import Thresholds

PAGES = ("requirements.md", "queries.md", "precision-contract.md")
PAGE = "".join((DOCS / name).read_text(encoding="utf-8") for name in PAGES)
EXAMPLES = re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)
HEAD = """\
title: T
requirements:
  - id: R
    title: A
    text: B
    group: other
    severity: low
    verify:
"""


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda text: text.splitlines()[0][:40])
def test_each_example_works(tmp_path: Path, example: str) -> None:
    """As a file, or as the queries of a requirement; every query gets an answer."""
    whole = not example.lstrip().startswith(("- ", "#"))
    (tmp_path / "spec.yaml").write_text(example if whole else HEAD + textwrap.indent(example, "      "))
    (tmp_path / "train.py").write_text("print()\n")
    found = World().trace(tmp_path / "spec.yaml")
    assert found.rows or found.details.precision
    for row in found.rows.values():
        assert all(query.actual for query in row.queries)
        assert row.queries or row.status is Status.NOT_MEASURED


def test_the_page_shows_every_query() -> None:
    """Kinds, keys and values: what can be asked can be looked up."""
    shown = [query for text in EXAMPLES for query in _queries(yaml.safe_load(text))]
    assert {key for query in shown for key in query} >= {kind.value for kind in QueryKind}
    keys = {key for query in shown for key in query.get("run", ())}
    assert keys == set(RunQuery.model_fields)
    for word in (*Oracle, *RunEvent, *ScaleBehaviour):
        assert word.value in PAGE


def test_the_page_shows_the_gates_as_they_are_by_default() -> None:
    shown = next(document["gates"] for text in EXAMPLES if "gates" in (document := yaml.safe_load(text)))
    assert shown == Thresholds().model_dump()


def _queries(part: object) -> list[dict[str, object]]:
    """Every list item that is a query, wherever it stands."""
    if isinstance(part, list):
        kinds = {kind.value for kind in QueryKind}
        own = [each for each in part if isinstance(each, dict) and kinds & set(each)]
        return own + [query for each in part if each not in own for query in _queries(each)]
    return [query for each in part.values() for query in _queries(each)] if isinstance(part, dict) else []


@pytest.mark.parametrize("example", re.findall(r"```toml\n(.*?)```", PAGE, re.DOTALL))
def test_each_setting_is_one(tmp_path: Path, example: str) -> None:
    assert tomllib.loads(example)
    (tmp_path / "verifygate.toml").write_text(example)
    assert read_toml(tmp_path / "verifygate.toml", "verifygate.toml").validate(FileSettings).requirements
