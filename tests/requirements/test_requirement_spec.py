"""The specification is read strictly: every complaint names the line and what to do."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from requirement_world import World, at, outcome_of

from verifygate.base.errors import UsageError
from verifygate.model import ConstructKind, Status
from verifygate.requirements import read_specification
from verifygate.requirements.inherit import catalogue

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
        ("- run: {}", "spec.yaml:9: ", "this one has none"),
        ("- run: {dtype: float16, oracle: schedule}", "spec.yaml:9: ", "this one has dtype and oracle"),
        ("- run: {order: [step]}", "spec.yaml:9: ", "at least 2"),
        ("- run: {order: [step, get-scale]}", "spec.yaml:9: ", "`get-scale` is not one of them"),
        ("- run: {order: [step, update, step]}", "spec.yaml:9: ", "names an event twice"),
        ("- run: {order: [step, updat]}", "spec.yaml:9: ", "did you mean `update`?"),
        ("- run: {oracle: scale-invarianc}", "spec.yaml:9: ", "'scale-invariance'"),
        ("- run: {events: [scale], with_scaler: true}", "spec.yaml:9: ", "goes with `order` only"),
        ("- run: {events: [scale], device: cuda}", "spec.yaml:9: ", "goes with `dtype` only"),
        ("- run: {low_precision_share: 0.5}", "spec.yaml:9: ", "string"),
        ("- run: {low_precision_share: '> 0.5'}", "spec.yaml:9: ", "for example `>= 0.5`"),
        ("- run: {low_precision_share: '>= 50'}", "spec.yaml:9: ", "from 0 to 1"),
        ("- measurement: ''", "spec.yaml:9: ", "name the measurement"),
        ("- measurement: {id: speedup.bf16, metric: speedup}", "spec.yaml:9: ", "by its id or by `metric`"),
        ("- measurement: {metric: speedup, at_least: 1, at_most: 2}", "spec.yaml:9: ", "one of at_least, at_most"),
        ("- measurement: {metric: speedup, at_least: '1.5x'}", "spec.yaml:9: ", "not a number"),
        ("- measurement: {metric: speedup, unit: x}", "spec.yaml:9: ", "goes with a bound"),
        ("- review: {by: A, date: 2026-01-01, said: ok, of: train.py}", "spec.yaml:9: ", "say what was reviewed"),
        ("- review: {by: A, date: 1 May, said: ok, of: a.py, commit: abc}", "spec.yaml:9: ", "2027-03-31"),
        ("- review: {by: A, date: 2026-01-01, said: ok, of: a.py, digest: xyz}", "spec.yaml:9: ", "hexadecimal"),
        ("- review: {by: ' ', date: 2026-01-01, said: ok, of: a.py, commit: abc}", "spec.yaml:9: ", "it is empty"),
        (
            "- review: {by: A, date: 2026-01-02, until: 2026-01-01, said: ok, of: a.py, commit: abc}",
            "spec.yaml:9: ",
            "before `date`",
        ),
        ("- marked_tests:\n    at_least: '2'", "spec.yaml:10: ", "is the text '2', not a number"),
        ("- marked_tests: {at_least: 0}", "spec.yaml:9: ", "greater than or equal to 1"),
        ("- construct: autocast\n  not: 'yes'", "spec.yaml:10: ", "boolean"),
        ("- construct: autocast\n  construct: scale", "spec.yaml:10: ", "occurs twice"),
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
        ("id: R", "id: architecture", "spec.yaml:3: ", "one of its own checks"),
        ("id: R", "id: \u0410MP-01", "spec.yaml:3: ", "letters, digits"),
        ("id: R", "id: R\n    revision: 0", "spec.yaml:4: ", "greater than or equal to 1"),
        ("id: R", "id: R\n    depends: [S]", "spec.yaml:3: ", "not a requirement of this specification"),
        ("id: R", "id: R\n    depends: [R]", "spec.yaml:3: ", "in a cycle: R -> R"),
        ("id: R", "id: R\n    review_suffices: true", "spec.yaml:3: ", "goes with a `review`"),
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
    assert complaint(path).startswith("spec.yaml:10: the id `r` is used twice, first at spec.yaml:3")


ITEM = "{{id: {name}, title: A, text: B, group: other, severity: low, depends: [{on}]}}"


def test_a_circle_of_dependencies_is_named(tmp_path: Path) -> None:
    """With all who are in it, at the line of one of them."""
    items = [ITEM.format(name=name, on=on) for name, on in (("A", "B"), ("B", "C"), ("C", "A"), ("D", "A"))]
    path = tmp_path / "spec.yaml"
    path.write_text("title: T\nrequirements:\n" + "".join(f"  - {item}\n" for item in items))
    message = complaint(path)
    assert re.match(r"spec\.yaml:[345]: these requirements depend on each other in a cycle: ", message)
    assert {"A -> B", "B -> C", "C -> A"} - set(re.findall(r"(?=([A-C] -> [A-C]))", message)) == set()


def test_a_dangling_dependency_offers_the_nearest(tmp_path: Path) -> None:
    path = tmp_path / "spec.yaml"
    items = [ITEM.format(name="CLIP-01", on=""), ITEM.format(name="B", on="CLIP-1")]
    path.write_text("title: T\nrequirements:\n" + "".join(f"  - {item}\n" for item in items))
    assert "did you mean `CLIP-01`?" in complaint(path)


def test_ten_thousand_requirements_are_read(tmp_path: Path) -> None:
    """A long chain of dependencies needs no deep recursion either."""
    items = [ITEM.format(name=f"R-{n}", on=f"R-{n - 1}" if n else "") for n in range(10_000)]
    path = tmp_path / "spec.yaml"
    path.write_text("title: T\nrequirements:\n" + "".join(f"  - {item}\n" for item in items))
    found = read_specification(tmp_path, "spec.yaml")
    assert len(found.spec.requirements) == 10_000
    assert found.lines["R-9999"].requirement == 10_002


TOML = """\
title = "T"

[architecture]
explicit = true

[[requirements]]
id = "R-1"
title = "A"
text = "B"
group = "acceptance"
severity = "high"
revision = 2
verify = [{construct = "autocast"}]

[[requirements]]
id = "R-2"
title = "A"
text = "B"
group = "acceptance"
severity = "high"

[[requirements.verify]]
rule = "AMP201"

[[requirements.verify]]
run = {order = ["step", "update"]}
"""


def test_a_specification_may_be_toml(tmp_path: Path) -> None:
    """With the same meaning, and the lines of its tables."""
    (tmp_path / "spec.toml").write_text(TOML)
    found = read_specification(tmp_path, "spec.toml")
    assert [each.id for each in found.spec.requirements] == ["R-1", "R-2"]
    assert found.spec.requirements[0].revision == 2
    assert [query.words for query in found.spec.requirements[1].verify] == ["rule AMP201", "run order step, update"]
    assert (found.lines["R-2"].requirement, found.lines["R-2"].queries) == (16, (22, 25))


@pytest.mark.parametrize(
    ("old", "new", "where"),
    [
        ('rule = "AMP201"', 'rule = "amp201"', "spec.toml:23: "),
        ('id = "R-2"', 'id = "r-1"', "spec.toml:16: the id `r-1` is used twice, first at spec.toml:7"),
        ("[[requirements.verify]]\nrun", "[[requirements.verify]]\nrum", "spec.toml:26: "),
        ('title = "T"', "title = T", "spec.toml:1: "),
    ],
)
def test_a_slip_in_toml_has_its_line_too(tmp_path: Path, old: str, new: str, where: str) -> None:
    path = tmp_path / "spec.toml"
    path.write_text(TOML.replace(old, new, 1))
    assert complaint(path).startswith(where)


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


def test_the_reference_specification_is_the_catalogue_and_more() -> None:
    """It takes everything over, loosens nothing, and adds what only this program promises."""
    specification = read_specification(REPOSITORY, "reference_impl/requirements.yaml")
    requirements = {item.id: item for item in specification.spec.requirements}
    assert {item.id for item in catalogue("amp-core").requirements} < set(requirements)
    assert {each.direction for each in specification.deviations} == {"tightened", "changed"}
    assert requirements["CKPT-02"].depends == ("CKPT-01",)
    assert all(item.verify for item in requirements.values())
    assert specification.spec.architecture.explicit
