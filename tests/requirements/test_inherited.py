"""`extends:` takes a catalogue over; whatever is asked for less than it asks is explained and shown."""

from __future__ import annotations

from pathlib import Path

import pytest
from requirement_world import Traced, World

from verifygate.base.errors import UsageError
from verifygate.model import Status
from verifygate.requirements import read_specification
from verifygate.requirements.inherit import catalogue, names

HEAD = "title: T\nextends: amp-core\n"


def spec(tmp_path: Path, rest: str = "") -> Path:
    path = tmp_path / "spec.yaml"
    path.write_text(HEAD + rest, encoding="utf-8")
    return path


def complaint(tmp_path: Path, rest: str) -> str:
    path = spec(tmp_path, rest)
    with pytest.raises(UsageError) as caught:
        read_specification(path.parent, path.name)
    assert caught.value.remedy
    return str(caught.value)


def traced(tmp_path: Path, rest: str = "") -> Traced:
    return World().trace(spec(tmp_path, rest))


def test_the_catalogue_holds_what_seed_reports_ask_for() -> None:
    """Eight criteria, three targets, four edge cases, data integrity, checkpoints, active logging: all verifiable."""
    every = catalogue("amp-core").requirements
    assert [each.id for each in every if each.group == "acceptance"] == [f"AMP-0{n}" for n in range(1, 9)]
    assert [each.id for each in every if each.group == "business"] == ["BUS-01", "BUS-02", "BUS-03"]
    assert [each.id for each in every if each.group == "edge-case"] == [f"EDGE-0{n}" for n in range(1, 5)]
    assert {each.id for each in every} >= {"DATA-01", "DATA-02", "CKPT-01", "LOG-01"}
    assert all(each.verify for each in every)
    assert names() == ["amp-core", "amp-delegated"]


def test_all_of_it_is_taken_over_where_nothing_is_said(tmp_path: Path) -> None:
    found = traced(tmp_path)
    assert [*found.rows] == [each.id for each in catalogue("amp-core").requirements]
    assert found.details.extends == "amp-core"
    assert found.details.deviations == ()
    assert found.checks["inherited"].status is Status.PASS


def test_what_is_inherited_is_cited_where_the_file_says_so(tmp_path: Path) -> None:
    """The catalogue lies in no audited tree: the place to look at is the line that takes it over."""
    found = traced(tmp_path, "override:\n  AMP-02:\n    also:\n      - test: gone.py\n")
    places = {
        name: {(item.path, item.line) for item in found.checks[name].evidence if "asks for it here" in item.summary}
        for name in ("AMP-01", "AMP-02")
    }
    assert places == {"AMP-01": {("spec.yaml", 2)}, "AMP-02": {("spec.yaml", 4), ("spec.yaml", 6)}}


def test_select_takes_ids_and_groups(tmp_path: Path) -> None:
    """What is not selected is less than the catalogue asks, and named."""
    found = traced(tmp_path, "select: [edge-case, AMP-01]\n")
    assert [*found.rows] == ["AMP-01", "EDGE-01", "EDGE-02", "EDGE-03", "EDGE-04"]
    left_out = {each.requirement for each in found.details.deviations if each.direction == "loosened"}
    assert left_out == {each.id for each in catalogue("amp-core").requirements} - {*found.rows}
    assert found.checks["inherited"].status is Status.PARTIAL
    assert "BUS-02: not selected from amp-core" in found.checks["inherited"].actual


def test_what_is_dropped_says_why(tmp_path: Path) -> None:
    found = traced(tmp_path, "override:\n  BUS-02: {drop: true, reason: memory is no concern here}\n")
    assert "BUS-02" not in found.rows
    (deviation,) = found.details.deviations
    assert (deviation.requirement, deviation.direction) == ("BUS-02", "loosened")
    assert deviation.reason == "memory is no concern here"


@pytest.mark.parametrize(
    ("requirement", "change", "direction", "what"),
    [
        ("BUS-01", "verify: [{measurement: {metric: speedup, at_least: 1.8, unit: x, device: accelerator}}]",
         "tightened", "speedup >= 1.8 x on accelerator, in place of measurement speedup >= 1.5 x on accelerator"),
        ("BUS-01", "verify: [{measurement: {metric: speedup, at_least: 1.2, unit: x, device: accelerator}}]",
         "loosened", "speedup >= 1.2 x on accelerator, in place of measurement speedup >= 1.5 x on accelerator"),
        ("BUS-01", "verify: [{measurement: {metric: speedup, at_least: 1.5, unit: x, device: cuda}}]",
         "tightened", "on cuda"),
        ("BUS-01", "verify: [{measurement: {metric: speedup, at_least: 1.5, unit: x}}]", "loosened", "1.5 x, in place"),
        ("BUS-01", "verify: [{measurement: {metric: speedup, device: accelerator}}]", "loosened", "in place"),
        ("BUS-03", "verify: [{measurement: {metric: accuracy-difference, within: 0.02, unit: score}}]",
         "loosened", "within +-0.02"),
        ("BUS-03", "verify: [{measurement: {metric: accuracy-difference, within: 0.005, unit: score}}]",
         "tightened", "within +-0.005"),
        ("EDGE-01", "severity: low", "loosened", "severity low in place of medium"),
        ("EDGE-01", "severity: critical", "tightened", "severity critical in place of medium"),
        ("EDGE-01", "required: false", "loosened", "not required any more"),
        ("EDGE-01", "text: In other words.", "changed", "another text"),
        ("EDGE-01", "also: [{rule: AMP108}]", "tightened", "also asked: rule AMP108"),
        ("EDGE-02", "verify: [{marked_tests: {at_least: 1}}]", "loosened", "no longer asked: run oracle mps-only"),
        ("EDGE-02", "also: [{marked_tests: {at_least: 2}}]", "tightened", "also asked: marked tests at least 2"),
    ],
)  # fmt: skip
def test_every_difference_is_shown_with_its_direction(
    tmp_path: Path, requirement: str, change: str, direction: str, what: str
) -> None:
    rest = f"override:\n  {requirement}:\n    {change}\n"
    if direction == "loosened":
        assert complaint(tmp_path, rest).startswith("spec.yaml:4: the override of `")
        rest += "    reason: agreed with everybody\n"
    (deviation,) = traced(tmp_path, rest).details.deviations
    assert (deviation.requirement, deviation.direction) == (requirement, direction)
    assert what in deviation.what


@pytest.mark.parametrize(
    ("rest", "where", "what"),
    [
        ("select: [AMP-99]\n", "spec.yaml:3: ", "did you mean `AMP-0"),
        ("override: {AMP-1: {drop: true}}\n", "spec.yaml:3: ", "amp-core has no `AMP-1`"),
        ("override:\n  AMP-01: {drop: true}\n", "spec.yaml:4: ", "add `reason:`"),
        ("override:\n  AMP-01: {drop: true, reason: r, severity: low}\n", "spec.yaml:4: ", "cannot be changed as well"),
        ("override:\n  AMP-01: {reason: r}\n", "spec.yaml:4: ", "it changes nothing"),
        ("override:\n  AMP-01: {verify: [], also: [{rule: AMP101}]}\n", "spec.yaml:4: ", "is the whole list"),
        ("override:\n  AMP-01: {text: ' '}\n", "spec.yaml:4: ", "it is empty"),
        ("override:\n  AMP-01: {review_suffices: true}\n", "spec.yaml:4: ", "goes with a `review`"),
        ("select: [AMP-01]\noverride:\n  AMP-02: {title: X}\n", "spec.yaml:5: ", "overridden, and not selected"),
        ("requirements:\n  - {id: amp-01, title: A, text: B, group: other, severity: low}\n",
         "spec.yaml:4: ", "is one of amp-core's"),
    ],
)  # fmt: skip
def test_what_cannot_be_meant(tmp_path: Path, rest: str, where: str, what: str) -> None:
    message = complaint(tmp_path, rest)
    assert message.startswith(where)
    assert what in message


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("title: T\nextends: amp-cor\n", "write amp-core"),
        ("title: T\nselect: [AMP-01]\n", "goes with `extends`"),
        ("title: T\noverride: {AMP-01: {drop: true}}\n", "goes with `extends`"),
    ],
)
def test_a_catalogue_must_be_there(tmp_path: Path, text: str, what: str) -> None:
    (tmp_path / "spec.yaml").write_text(text, encoding="utf-8")
    with pytest.raises(UsageError, match=what):
        read_specification(tmp_path, "spec.yaml")


def test_own_requirements_stand_beside_the_catalogues(tmp_path: Path) -> None:
    """And may depend on them."""
    found = traced(
        tmp_path,
        "select: [BUS-01, BUS-02]\nrequirements:\n"
        "  - {id: OWN, title: A, text: B, group: other, severity: low, depends: [BUS-01, BUS-02],"
        " verify: [{construct: autocast}]}\n",
    )
    assert found.statuses["BUS-01"] is Status.PASS
    assert found.statuses["OWN"] is Status.PARTIAL
    assert found.checks["OWN"].actual == "depends on BUS-02 (NOT MEASURED)"
