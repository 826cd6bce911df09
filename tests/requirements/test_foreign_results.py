"""JUnit files from elsewhere: read whole or refused in one line, and worth what the settings say at the most."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from requirement_world import Traced, World

from verifygate.base.errors import UsageError
from verifygate.config.policy import policy_of
from verifygate.config.settings import ForeignResults, load
from verifygate.model import EvidenceClass, Status
from verifygate.requirements.foreign import read_foreign

Writer = Callable[..., Path]
CASES = """\
<testcase classname="tests.test_gpu.TestLoop" name="test_fp16[cuda]" file="tests/test_gpu.py" line="3">
  <properties><property name="requirement" value="R"/><property name="other" value="S"/></properties>
</testcase>
<testcase classname="tests.test_gpu" name="test_bf16" file="tests/test_gpu.py"><failure message="no  bf16
here">long</failure></testcase>
<testcase classname="org.Suite" name="works"/>
<testcase classname="org.Suite" name="waits"><skipped message="no GPU"/></testcase>
<testcase classname="org.Suite" name="breaks"><error/></testcase>
<testcase classname="org.Suite" name="wavers"><flakyFailure message="once"/></testcase>
"""
WHOLE = f'<testsuites><testsuite name="a" tests="6"><testsuite>{CASES}</testsuite></testsuite></testsuites>'


def foreign(tmp_path: Path, text: str, kind: str = "executed"):
    (tmp_path / "ci.xml").write_text(text, encoding="utf-8")
    (found,) = read_foreign(tmp_path, [ForeignResults.model_validate({"file": "ci.xml", "class": kind})])
    return found


def traced(world: World, spec: Path, text: str, kind: str) -> Traced:
    (spec.parent / "ci.xml").write_text(text, encoding="utf-8")
    world.junit = (ForeignResults.model_validate({"file": "ci.xml", "class": kind}),)
    return world.trace(spec)


def test_every_case_counts_however_deep_it_lies(tmp_path: Path) -> None:
    found = foreign(tmp_path, WHOLE)
    assert [(test.id, test.outcome.outcome) for test in found.tests] == [
        ("tests/test_gpu.py::TestLoop::test_fp16[cuda]", "passed"),
        ("tests/test_gpu.py::test_bf16", "failed"),
        ("org.Suite::works", "passed"),
        ("org.Suite::waits", "skipped"),
        ("org.Suite::breaks", "error"),
        ("org.Suite::wavers", "flaky"),
    ]
    assert found.tests[0].outcome.requirements == ("R",)
    assert found.tests[1].outcome.reason == "no bf16 here"
    assert found.file.tests == 6
    assert dict(found.file.outcomes) == {"error": 1, "failed": 1, "flaky": 1, "passed": 2, "skipped": 1}


@pytest.mark.parametrize(
    ("text", "where", "what"),
    [
        ("<testsuite>", "ci.xml:1: ", "not valid XML"),
        ("", "ci.xml:1: ", "not valid XML"),
        ("<testsuite>\n<testcase></testsuite>", "ci.xml:2: ", "not valid XML"),
        ("<report/>", "ci.xml: ", "its root is `report`"),
        ('<!DOCTYPE x [<!ENTITY a "b">]><testsuite>&a;</testsuite>', "ci.xml: ", "document type or an entity"),
        ('<!DOCTYPE x SYSTEM "http://example.org/x.dtd"><testsuite/>', "ci.xml: ", "document type or an entity"),
        ('<?xml version="1.0" encoding="nonsense"?><testsuite/>', "ci.xml:1: ", "not valid XML"),
    ],
)
def test_what_is_no_whole_junit_file_is_refused_in_one_line(tmp_path: Path, text: str, where: str, what: str) -> None:
    with pytest.raises(UsageError) as caught:
        foreign(tmp_path, text)
    message = str(caught.value)
    assert message.startswith(where)
    assert what in message
    assert "\n" not in message


def test_entities_that_grow_are_not_expanded(tmp_path: Path) -> None:
    """A billion laughs ends at its first definition."""
    layers = "".join(f'<!ENTITY l{n} "{f"&l{n - 1};" * 10}">' for n in range(1, 12))
    with pytest.raises(UsageError, match="document type or an entity"):
        foreign(tmp_path, f'<!DOCTYPE x [<!ENTITY l0 "ha">{layers}]><testsuite>&l11;</testsuite>')


def test_a_file_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot be read"):
        read_foreign(tmp_path, [ForeignResults(file="gone.xml")])


TEST = "- test: 'org.Suite::{}'"


@pytest.mark.parametrize(
    ("kind", "name", "status"),
    [
        ("executed", "works", Status.PASS),
        ("executed", "breaks", Status.FAIL),
        ("executed", "waits", Status.NOT_MEASURED),
        ("executed", "wavers", Status.PARTIAL),
        ("executed", "gone", Status.FAIL),
        ("declared", "works", Status.NOT_MEASURED),
        ("declared", "wavers", Status.NOT_MEASURED),
        ("declared", "breaks", Status.FAIL),
    ],
)
def test_what_a_named_test_is_worth(world: World, written: Writer, kind: str, name: str, status: Status) -> None:
    """What is only declared never passes; that it failed is believed."""
    found = traced(world, written(TEST.format(name)), WHOLE, kind)
    assert found.statuses["R"] is status
    if name != "gone":
        cited = found.checks["R"].evidence[0]
        assert (cited.kind, cited.path) == (EvidenceClass(kind), "ci.xml")
        assert f"org.Suite::{name} (ci.xml)" in found.rows["R"].foreign
        assert found.rows["R"].tests == ()


@pytest.mark.parametrize(("kind", "status"), [("executed", Status.PASS), ("declared", Status.FAIL)])
def test_a_case_may_name_its_requirement(world: World, written: Writer, kind: str, status: Status) -> None:
    """By a property; a declared one is no marked test."""
    assert traced(world, written("- marked_tests: {at_least: 1}"), WHOLE, kind).statuses["R"] is status


def test_a_declared_pass_takes_nothing_from_tests_that_ran(world: World, written: Writer) -> None:
    text = (
        '<testsuite><testcase classname="tests.test_loop" name="test_overflow" file="tests/test_loop.py"/></testsuite>'
    )
    spec = written("- test: tests/test_loop.py::test_overflow")
    assert traced(world, spec, text, "declared").statuses["R"] is Status.PASS
    failed = text.replace("/></testsuite>", "><failure/></testcase></testsuite>")
    assert traced(world, spec, failed, "declared").statuses["R"] is Status.FAIL


def test_a_suite_that_contradicts_itself_proves_nothing(world: World, written: Writer) -> None:
    """Cases that were taken out do not go unseen."""
    cut = WHOLE.replace('<testcase classname="org.Suite" name="breaks"><error/></testcase>', "")
    assert cut != WHOLE
    found = traced(world, written(TEST.format("works")), cut, "executed")
    assert found.statuses["R"] is Status.NOT_MEASURED
    assert found.checks["foreign-results"].status is Status.PARTIAL
    assert "says that it has 6 tests, and holds 5" in found.checks["foreign-results"].actual


def test_the_settings_name_the_files(tmp_path: Path) -> None:
    """`class` in the file; `declared` where it is not said; a path that is there."""
    config = tmp_path / "verifygate.toml"
    config.write_text('[[requirements.junit]]\nfile = "ci.xml"\nclass = "executed"\n')
    with pytest.raises(UsageError, match=r"verifygate.toml:2: `ci.xml` does not exist"):
        load(config, tmp_path)
    (tmp_path / "ci.xml").write_text(WHOLE)
    settings = load(config, tmp_path)
    assert [each.kind for each in settings.requirements.junit] == ["executed"]
    assert next(each for each in policy_of(settings) if each.key == "requirements.junit").value == "ci.xml executed"
    config.write_text('[[requirements.junit]]\nfile = "ci.xml"\nclass = "measured"\n')
    with pytest.raises(UsageError, match=r"verifygate.toml:3: "):
        load(config, tmp_path)
