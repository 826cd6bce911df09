"""The specification is read strictly: every complaint names the line and what to do."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from requirement_world import World, at, outcome_of

from verifygate.errors import UsageError
from verifygate.model import ConstructKind, Status
from verifygate.requirements import read_specification

REPOSITORY = Path(__file__).parents[2]
Writer = Callable[..., Path]


def complaint(path: Path) -> str:
    with pytest.raises(UsageError) as caught:
        read_specification(path.parent, path.name)
    assert caught.value.exit_code == 2
    assert caught.value.remedy
    return str(caught.value)


@pytest.mark.parametrize(
    ("queries", "where", "what"),
    [
        ("- constuct: grad-scaler", "spec.yaml:9: ", "did you mean `construct`?"),
        ("- construct: gradscaler", "spec.yaml:9: ", "'grad-scaler'"),
        ("- rule: AMP201\n- rule: clip-before-unscale", "spec.yaml:10: ", "give the rule's code"),
        ("- rule: AMP201\n  test: tests/test_x.py", "spec.yaml:9: ", "exactly one of construct, rule, test"),
        ("- in: train.py", "spec.yaml:9: ", "this one has none"),
        ("- rule: AMP201\n  not: true", "spec.yaml:9: ", "`not` goes with `construct` only"),
        ("- test: tests/test_x.py\n  in: tests/*", "spec.yaml:9: ", "`in` goes with"),
        ("- test: ''", "spec.yaml:9: ", "it is empty"),
        ("- check: speedup", "spec.yaml:9: ", "`stage.name`"),
        ("- check: requirements.R", "spec.yaml:9: ", "`stage.name`"),
        ("- marked_tests:\n    at_least: '2'", "spec.yaml:10: ", "is the text '2', not a number"),
        ("- marked_tests: {at_least: 0}", "spec.yaml:9: ", "greater than or equal to 1"),
        ("- construct: autocast\n  not: 'yes'", "spec.yaml:10: ", "boolean"),
        ("- construct: autocast\n  construct: scale", "spec.yaml:10: ", "stands twice"),
    ],
)
def test_a_query_that_cannot_be_meant(written: Writer, queries: str, where: str, what: str) -> None:
    """A slip in a query is an error at its line, with the nearest spelling where there is one."""
    message = complaint(written(queries))
    assert message.startswith(where)
    assert what in message


@pytest.mark.parametrize(
    ("old", "new", "where", "what"),
    [
        ("id: R", "id: 7", "spec.yaml:3: ", "string"),
        ("id: R", "id: Ä-1", "spec.yaml:3: ", "letters, digits"),
        ("id: R", "id: architecture", "spec.yaml:3: ", "a check of its own"),
        ("text: A criterion.", "text: ' '", "spec.yaml:5: ", "it is empty"),
        ("    text: A criterion.\n", "", "spec.yaml:3: ", "`requirements.0.text` is missing"),
        ("severity: high", "severity: highest", "spec.yaml:7: ", "'critical'"),
        ("group: acceptance", "group: misc", "spec.yaml:6: ", "'acceptance'"),
        ("    verify", "    verfy", "spec.yaml:8: ", "did you mean `verify`?"),
        ("title: T\n", "title: T\ntittle: T\n", "spec.yaml:2: ", "did you mean `title`?"),
        ("title: T\n", "title: T\ngates: {coverage: '80%'}\n", "spec.yaml:2: ", "write 0.8 without quotes"),
        ("title: T\n", "title: T\ngates: {coverage: 80}\n", "spec.yaml:2: ", "less than or equal to 1"),
        ("title: T\n", "title: T\narchitecture: {explicit: 'true'}\n", "spec.yaml:2: ", "boolean"),
    ],
)
def test_a_specification_that_cannot_be_meant(written: Writer, old: str, new: str, where: str, what: str) -> None:
    """So is a slip anywhere else in the file."""
    path = written("- rule: AMP201")
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1), encoding="utf-8")
    message = complaint(path)
    assert message.startswith(where)
    assert what in message


def test_an_id_stands_only_once(written: Writer) -> None:
    """The second of two equal ids, however it is cased, is refused at its own line."""
    path = written("- rule: AMP201")
    again = path.read_text().partition("requirements:\n")[2].replace("id: R", "id: r")
    path.write_text(path.read_text() + again)
    assert complaint(path).startswith("spec.yaml:10: the id `r` stands twice, first at spec.yaml:3")


@pytest.mark.parametrize("text", ["title: T\nrequirements: []\n", "title: T\n", "", "- a\n", "title: [\n"])
def test_a_specification_without_requirements_is_none(tmp_path: Path, text: str) -> None:
    """An empty list would pass everything, so it is an error like a broken file."""
    path = tmp_path / "spec.yaml"
    path.write_text(text)
    assert complaint(path).startswith("spec.yaml")


def test_the_stage_lets_the_complaint_through(world: World, written: Writer) -> None:
    """A broken specification is the user's to repair, not a stage that quietly found nothing."""
    with pytest.raises(UsageError):
        world.trace(written("- rule: amp201"))


@pytest.mark.parametrize(
    ("wanted", "status"),
    [
        ("tests/test_config.py::test_default[fp32]", Status.PASS),
        ("tests/test_config.py::test_default", Status.PASS),
        ("tests/test_config.py", Status.PASS),
        ("tests/", Status.PASS),
        ("tests/*::test_default*", Status.PASS),
        ("tests/test_config.py::test_def", Status.FAIL),
        ("tests/test_config.py::test_default[fp3?]", Status.PASS),
        ("tests/test_config.py::test_default[fp?]", Status.FAIL),
    ],
)
def test_tests_are_named_by_id_beginning_or_pattern(world: World, written: Writer, wanted: str, status: Status) -> None:
    """A beginning ends at a boundary, and brackets of a parametrised id mean themselves."""
    assert world.trace(written(f"- test: '{wanted}'")).statuses["R"] is status


def test_a_beginning_takes_all_tests_below_it(world: World, written: Writer) -> None:
    """One failed test of a file fails the query that names the file."""
    world.tests.append(outcome_of("tests/test_loop.py::test_late", outcome="failed"))
    assert world.trace(written("- test: tests/test_loop.py")).statuses["R"] is Status.FAIL


def test_in_narrows_to_files(world: World, written: Writer) -> None:
    """The construct must stand in a file that fits; a pattern that no file fits answers nothing."""
    world.paths.append("model.py")
    assert world.trace(written("- construct: autocast\n  in: train.py")).statuses["R"] is Status.PASS
    assert world.trace(written("- construct: autocast\n  in: model.py")).statuses["R"] is Status.FAIL
    for query in ("- construct: autocast\n  not: true", "- rule: AMP201"):
        assert world.trace(written(f"{query}\n  in: gone/*")).statuses["R"] is Status.NOT_MEASURED


def test_a_pattern_that_names_tests_counts_them(world: World, written: Writer) -> None:
    """Test files are left out of a wide pattern, and count where the pattern asks for them."""
    world.constructs = [at(ConstructKind.GET_SCALE, 3, path="tests/test_loop.py")]
    assert world.trace(written("- construct: get-scale\n  in: '*'")).statuses["R"] is Status.FAIL
    assert world.trace(written("- construct: get-scale\n  in: tests/*")).statuses["R"] is Status.PASS


def test_without_explicit_the_architecture_is_shown_and_not_judged(world: World, written: Writer) -> None:
    """Expected lines without `explicit` stand beside the actual ones, and no check comes of them."""
    traced = world.trace(written("- rule: AMP201", "architecture: {expected: [one loop]}\n"))
    assert traced.details.architecture_expected == ("one loop",)
    assert "architecture" not in traced.checks


def test_the_reference_specification_holds_the_eight_criteria() -> None:
    """It is valid, names each criterion, target and edge case, and gives a way to verify every one."""
    specification = read_specification(REPOSITORY, "reference_impl/requirements.yaml")
    requirements = specification.spec.requirements
    assert [item.id for item in requirements if item.group == "acceptance"] == [f"AMP-0{n}" for n in range(1, 9)]
    assert {item.id for item in requirements} >= {"BUS-01", "BUS-02", "BUS-03", "EDGE-04", "DATA-02", "CKPT-01"}
    assert all(item.verify for item in requirements)
    assert specification.spec.architecture.explicit
