"""What a change does to the tests of its base: to the settings that collect them, and to the tests themselves."""

from __future__ import annotations

from typing import Any

import pytest

from verifygate.cli import main

RUN = ["run", "--since", "main", "--stage", "execution"]
TESTS = """\
import train


def test_step():
    assert train.STEP == 1
    assert train.STEP > 0


def test_other():
    assert train.STEP
"""
STEP = TESTS[TESTS.index("def test_step") : TESTS.index("\n\ndef test_other")]


@pytest.fixture
def tested(repository: Any) -> Any:
    """A repository with tests, and a change of it."""
    repository.git("rm", "-q", "old.py")
    repository.write("verifygate.toml", "[execution]\nrecorder = false\ncoverage = false\n")
    repository.write("tests/test_train.py", TESTS)
    repository.write("pytest.ini", "[pytest]\npythonpath = .\n")
    repository.commit(train__py="import torch\n\nSTEP = 1\n")
    repository.git("checkout", "-qb", "change")
    return repository


def collected(repository: Any) -> dict[str, Any]:
    found = (check for stage in repository.report["stages"] for check in stage["checks"])
    return next(check for check in found if check["id"] == "execution.tests-collected")


@pytest.mark.slow
def test_settings_that_collect_tests_are_those_of_the_base(tested: Any) -> None:
    """The change hides what it breaks; the base's settings still collect it, and the difference is told."""
    tested.write("train.py", "import torch\n\nSTEP = 3\n")
    tested.write("pytest.ini", "[pytest]\npythonpath = .\npython_functions = test_other\n")
    tested.commit()

    assert main(RUN) == 1
    assert "tests/test_train.py::test_step" in tested.page
    differences = tested.report["policy_origin"]["differences"]
    assert [each["key"] for each in differences] == ["pytest: python_functions"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("now", "said", "blocks"),
    [
        (TESTS.replace(STEP, ""), "1 taken away: tests/test_train.py::test_step (was there at", True),
        (TESTS.replace(STEP, STEP.replace("assert train.STEP == 1", "pass").replace("assert train.STEP > 0", "pass")),
         "1 made weaker: tests/test_train.py::test_step (has 0 asserts, and had 2 at", True),
        (TESTS.replace("    assert train.STEP == 1\n", ""), "has 1 assert, and had 2 at", False),
        (TESTS.replace("test_step", "test_the_step"), "", False),
        (TESTS + "\n\ndef test_more():\n    assert 1\n", "", False),
    ],
    ids=["gone", "emptied", "weaker", "renamed", "added"],
)  # fmt: skip
def test_a_test_that_a_change_takes_away(tested: Any, now: str, said: str, blocks: bool) -> None:
    tested.write("tests/test_train.py", now)
    tested.commit()

    assert main(RUN) == int(blocks)
    found = collected(tested)
    assert (said in found["actual"], found["required"] and found["status"] != "PASS") == (True, blocks)
    assert (found["status"] == "PASS") is not bool(said)
    assert ("put back what this change takes out of the tests" in found["remedy"]) is bool(said)


@pytest.mark.slow
def test_a_test_that_moves_or_goes_with_its_subject_is_no_loss(tested: Any) -> None:
    tested.git("checkout", "-q", "main")
    tested.write("helper.py", "ONE = 1\n")
    tested.write("tests/test_helper.py", "import helper\n\n\ndef test_one():\n    assert helper.ONE\n")
    tested.commit()
    tested.git("checkout", "-qB", "change")
    tested.git("rm", "-q", "helper.py", "tests/test_helper.py", "tests/test_train.py")
    tested.write("tests/test_step.py", TESTS)
    tested.commit()

    assert main(RUN) == 0
    assert not collected(tested)["required"] or collected(tested)["status"] == "PASS"


@pytest.mark.slow
def test_what_was_hidden_before_does_not_block_a_change(tested: Any) -> None:
    tested.git("checkout", "-q", "main")
    tested.write("conftest.py", "collect_ignore_glob = ['tests/test_old*.py']\n")
    tested.write("tests/test_old.py", "def test_old():\n    assert 0\n")
    tested.commit()
    tested.git("checkout", "-qB", "change")
    tested.write("train.py", "import torch\n\nSTEP = 1  # a note\n")
    tested.commit()

    assert main(RUN) == 0
    assert "tests/test_old.py" in collected(tested)["actual"]
    tested.write("tests/test_older.py", "def test_older():\n    assert 0\n")
    assert main(RUN) == 1
    assert collected(tested)["actual"].startswith("1 hidden: tests/test_older.py ")


def test_a_change_that_takes_all_tests_away_blocks(repository: Any, capsys: pytest.CaptureFixture[str]):
    """With no test left there is nothing to collect: the base says that there was."""
    repository.commit(test_it__py="def test_it():\n    assert True\n")
    repository.git("checkout", "-qb", "change")
    repository.git("rm", "-q", "test_it.py")
    repository.commit()
    assert main(["run", "--stage", "execution", "--since", "main"]) == 1
    assert "the change took all tests away: 1 file, the first test_it.py" in capsys.readouterr().out


MODULE_SKIP = "import pytest\n\npytest.skip('under repair', allow_module_level=True)\n\n\n"
VANISHED: dict[str, tuple[dict[str, str], str]] = {
    "a module that skips itself": ({"tests/test_train.py": MODULE_SKIP + TESTS}, "the module is skipped: under repair"),
    "unittest's own skip": (
        {"tests/test_train.py": "import unittest\n\nraise unittest.SkipTest('later')\n\n\n" + TESTS},
        "the module is skipped: later",
    ),
    "an import of what is not there": (
        {"tests/test_train.py": "import pytest\n\npytest.importorskip('no_such_package')\n\n\n" + TESTS},
        "the module is skipped: needs no_such_package",
    ),
    "a package that skips itself": ({"tests/__init__.py": MODULE_SKIP}, "the module is skipped: under repair"),
    "a hook": (
        {
            "conftest.py": "import os\n\n\ndef pytest_ignore_collect(collection_path):\n"
            "    return True if collection_path.name == 'test_train.py' and 'A' not in os.environ else None\n"
        },
        "pytest_ignore_collect in conftest.py; it ran at",
    ),
    "names taken out at the end": (
        {"tests/test_train.py": TESTS + "\n\nglobals().pop('test_step')\n"},
        "tests/test_train.py::test_step (not collected; nothing in the source says why; it ran at",
    ),
    "a deletion at the end": ({"tests/test_train.py": TESTS + "\n\ndel test_step\n"}, "`test_step` is deleted"),
    "a condition around them": (
        {"tests/test_train.py": "import train\n\nif False:\n    " + TESTS.replace("\n", "\n    ").rstrip() + "\n"},
        "tests/test_train.py::test_step (was there at",
    ),
}
"""Way -> what a change writes beside a source that is broken, and what is said of it."""


@pytest.mark.slow
@pytest.mark.parametrize("way", VANISHED)
def test_what_a_change_keeps_from_being_collected_blocks(tested: Any, way: str) -> None:
    tested.git("checkout", "-q", "main")
    tested.write("tests/test_more.py", "def test_more():\n    assert 1\n")
    tested.commit()
    tested.git("checkout", "-qB", "change")
    files, said = VANISHED[way]
    for path, text in {"train.py": "import torch\n\nSTEP = 3\n", **files}.items():
        tested.write(path, text)
    tested.commit()

    assert main(RUN) == 1
    assert said in collected(tested)["actual"]
    assert collected(tested)["required"]


@pytest.mark.slow
def test_a_module_that_skipped_itself_before_does_not_block(tested: Any, capsys: pytest.CaptureFixture[str]) -> None:
    """Here and at the base it lacks the same package; what does not run is on the first screen."""
    tested.git("checkout", "-q", "main")
    tested.write("tests/test_b.py", "import pytest\n\npytest.importorskip('no_such_package')\n\n\n" + TESTS)
    tested.commit()
    tested.git("checkout", "-qB", "change")
    tested.commit(train__py="import torch\n\nSTEP = 1  # a note\n")

    assert main(RUN) == 0
    told = "tests/test_b.py (2 in the source, none collected: the module is skipped: needs no_such_package)"
    assert told in capsys.readouterr().out
    assert not collected(tested)["required"]


DATA = """\
import json
import pathlib

import pytest
import train

CASES = json.loads(pathlib.Path(__file__).with_name("cases.json").read_text())


@pytest.mark.parametrize("number", CASES)
def test_times(number):
    assert train.STEP * number < 3
"""


@pytest.mark.slow
@pytest.mark.parametrize("step", [2, 1])
def test_cases_that_are_read_from_data_are_asked_for_as_well(tested: Any, step: int) -> None:
    """The case that fails is taken out of the data; where it would pass, it was only taken out."""
    tested.git("checkout", "-q", "main")
    tested.write("tests/cases.json", "[0, 2]")
    tested.write("tests/test_data.py", DATA)
    tested.commit()
    tested.git("checkout", "-qB", "change")
    tested.write("tests/cases.json", "[0]")
    tested.write("tests/test_train.py", TESTS.replace("== 1", "> 0"))
    tested.commit(train__py=f"import torch\n\nSTEP = {step}\n")

    assert main(RUN) == int(step == 2)
    assert "tests/test_data.py::test_times (runs in 1 case, and 2 were collected at" in collected(tested)["actual"]
    assert collected(tested)["required"] is (step == 2)


HOOK = """\
import os


def pytest_collection_modifyitems(items):
    if not os.environ.get("A_MACHINE_OF_OURS"):
        items[:] = [item for item in items if item.name != "test_step"]
"""
SKIPPED = "import os\n\nimport pytest\n" + TESTS.replace(
    "def test_step", "@pytest.mark.skipif('A_MACHINE_OF_OURS' not in os.environ, reason='elsewhere')\ndef test_step"
)


@pytest.mark.slow
def test_what_a_hook_takes_away_and_ran_before_blocks(tested: Any) -> None:
    """That the hook asks something of the machine says nothing: on this one the test ran at the base, and passed."""
    tested.write("conftest.py", HOOK)
    tested.commit()

    assert main(RUN) == 1
    assert "tests/test_train.py::test_step" in collected(tested)["actual"]
    assert "it ran at" in collected(tested)["actual"]


@pytest.mark.slow
@pytest.mark.parametrize(("name", "text"), [("conftest.py", HOOK), ("tests/test_train.py", SKIPPED)])
def test_what_never_ran_here_does_not_block(tested: Any, name: str, text: str) -> None:
    tested.git("checkout", "-q", "main")
    tested.write(name, text)
    tested.commit()
    tested.git("checkout", "-qB", "change")
    tested.write("train.py", "import torch\n\nSTEP = 1  # a note\n")
    tested.commit()

    assert main(RUN) == 0


CASES = """\
import pytest
import train


@pytest.mark.parametrize("number", [1, 2])
def test_times(number):
    assert train.STEP * number == number
    assert number


def test_other():
    assert train.STEP
"""
FEWER = """\
def pytest_generate_tests(metafunc):
    for mark in metafunc.definition.own_markers:
        del mark.args[1][1:]
"""
FINE, BROKEN = "STEP = 1\n", "STEP = 1.5\n"
PASSED_OVER = """\
import train


class TestTimes:
    def __init__(self):
        pass

    def test_times(self):
        assert train.STEP == 1
        assert train.STEP > 0


def test_other():
    assert train.STEP
"""
INHERITED = """\
import train


class Common:
    def test_times(self):
        assert train.STEP


class TestTimes(Common):
    pass


def test_other():
    assert train.STEP
"""
WEAKER: dict[str, tuple[dict[str, str], str, bool]] = {
    "a case less": ({"tests/test_train.py": CASES.replace("[1, 2]", "[0]")}, "runs in 1 case, and 2 were", True),
    "a case less by a hook": ({"conftest.py": FEWER}, "runs in 1 case, and 2 were", True),
    "an assert that is caught": (
        {"tests/test_train.py": CASES.replace("    assert train.STEP *", "    assert True or train.STEP *")},
        "has 1 assert, and had 2 at",
        True,
    ),
    "a class that pytest passes over": ({"tests/test_train.py": PASSED_OVER}, "test_times (was there at", True),
    "a test that is inherited from now on": (
        {
            "tests/test_train.py": INHERITED,
            "train.py": f"{FINE}\n",
        },
        "",
        False,
    ),
    "a case that was no longer meant": (
        {"tests/test_train.py": CASES.replace("[1, 2]", "[1]"), "train.py": f"{FINE}\n"},
        "runs in 1 case, and 2 were",
        False,
    ),
}
"""Way -> what the change writes beside a source that is broken, what is said of it, and whether it blocks."""


@pytest.mark.slow
@pytest.mark.parametrize("way", WEAKER)
def test_a_weaker_test_is_asked_as_it_was(tested: Any, way: str) -> None:
    """An honest change may make a test weaker; one that fails in its earlier text was made so to pass."""
    tested.git("checkout", "-q", "main")
    tested.write("tests/test_train.py", CASES)
    tested.commit(train__py=FINE)
    tested.git("checkout", "-qB", "change")
    files, said, blocks = WEAKER[way]
    for path, text in {"train.py": BROKEN, **files}.items():
        tested.write(path, text)
    tested.commit()

    assert main(RUN) == int(blocks)
    found = collected(tested)
    assert said in found["actual"]
    assert found["required"] is blocks
