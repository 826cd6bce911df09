"""Ways in which a project's settings and code make tests vanish, each with an honest twin that must not block."""

from __future__ import annotations

import datetime as dt
import sys
from pathlib import Path
from typing import Any

import pytest

from verifygate.config.settings import ExecutionSettings, Settings
from verifygate.execution import ExecutionStage
from verifygate.execution.environment import Interpreter
from verifygate.model import Check, StageResult, Status
from verifygate.process.subject import Subject
from verifygate.sources.discovery import read_sources
from verifygate.stage import StageContext

FINE = "def test_fine():\n    assert 1 + 1 == 2\n"
FAILS = "import train\n\n\ndef test_fails():\n    assert train.STEP == 2\n"
TRAIN = "STEP = 1\n"
HOOK = "def pytest_{hook}(items):\n    items[:] = [each for each in items if 'fails' not in each.name]\n"

HIDDEN: dict[str, tuple[dict[str, str], str]] = {
    "python_files": (
        {"pytest.ini": "[pytest]\npython_files = check_*.py\n", "tests/check_a.py": FINE, "tests/test_b.py": FAILS},
        "`python_files` of pytest.ini does not match it",
    ),
    "python_functions": (
        {"pytest.ini": "[pytest]\npython_functions = test_fine\n", "tests/test_a.py": f"{FAILS}\n\n{FINE}"},
        "tests/test_a.py::test_fails (`python_functions` of pytest.ini does not match it)",
    ),
    "python_classes": (
        {
            "pytest.ini": "[pytest]\npython_classes = Check\n",
            "tests/test_a.py": f"{FINE}\n\nclass TestStep:\n    def test_fails(self):\n        assert 0\n",
        },
        "tests/test_a.py::TestStep::test_fails (`python_classes` of pytest.ini does not match it)",
    ),
    "norecursedirs": (
        {"pytest.ini": "[pytest]\nnorecursedirs = step\n", "tests/test_a.py": FINE, "tests/step/test_b.py": FAILS},
        "`norecursedirs` of pytest.ini leaves out tests/step",
    ),
    "testpaths": (
        {"pytest.ini": "[pytest]\ntestpaths = tests/fine\n", "tests/fine/test_a.py": FINE, "tests/test_b.py": FAILS},
        "`testpaths` of pytest.ini does not name it",
    ),
    "collect_ignore": (
        {"conftest.py": "collect_ignore = ['tests/test_b.py']\n", "tests/test_a.py": FINE, "tests/test_b.py": FAILS},
        "collect_ignore in conftest.py",
    ),
    "collect_ignore_glob": (
        {"tests/conftest.py": "collect_ignore_glob = ['*_b.py']\n", "tests/test_a.py": FINE, "tests/test_b.py": FAILS},
        "collect_ignore_glob in tests/conftest.py",
    ),
    "pytest_ignore_collect": (
        {
            "conftest.py": "def pytest_ignore_collect(collection_path):\n"
            "    return collection_path.name == 'test_b.py' or None\n",
            "tests/test_a.py": FINE,
            "tests/test_b.py": FAILS,
        },
        "pytest_ignore_collect in conftest.py",
    ),
    "off_class": (
        {
            "tests/test_a.py": f"{FINE}\n\nclass TestStep:\n    __test__ = False\n\n"
            f"    def test_fails(self):\n        assert 0\n"
        },
        "tests/test_a.py::TestStep::test_fails (__test__ = False of TestStep)",
    ),
    "off_module": (
        {"tests/test_a.py": FINE, "tests/test_b.py": f"{FAILS}\n\n__test__ = False\n"},
        "__test__ = False",
    ),
    "deleted": (
        {"tests/test_a.py": f"{FAILS}\n\n{FINE}\n\ndel test_fails\n"},
        "`test_fails` is deleted or bound again",
    ),
    "makeitem": (
        {
            "conftest.py": "def pytest_pycollect_makeitem(name):\n    return [] if name == 'test_fails' else None\n",
            "tests/test_a.py": f"{FAILS}\n\n{FINE}",
        },
        "pytest_pycollect_makeitem in conftest.py",
    ),
    "modifyitems": (
        {"conftest.py": HOOK.format(hook="collection_modifyitems"), "tests/test_a.py": f"{FAILS}\n\n{FINE}"},
        "pytest_collection_modifyitems in conftest.py",
    ),
    "plugin_in_addopts": (
        {
            "pytest.ini": "[pytest]\naddopts = -p house\n",
            "house.py": HOOK.format(hook="collection_modifyitems"),
            "tests/test_a.py": f"{FAILS}\n\n{FINE}",
        },
        "pytest_collection_modifyitems in house.py",
    ),
    "empty_parametrize": (
        {
            "tests/test_a.py": "import pytest\n\nCASES = []\n\n\n@pytest.mark.parametrize('x', CASES)\n"
            f"def test_fails(x):\n    assert 0\n\n\n{FINE}"
        },
        "parametrised over nothing: 'x'",
    ),
    "skipping_hook": (
        {
            "conftest.py": "import pytest\n\n\ndef pytest_runtest_setup(item):\n    if item.name == 'test_fails':\n"
            "        pytest.skip('under repair')\n",
            "tests/test_a.py": f"{FAILS}\n\n{FINE}",
        },
        "skipped by pytest_runtest_setup in conftest.py: under repair",
    ),
}
"""Way -> the project's files, and what the check says."""

HONEST: dict[str, tuple[dict[str, str], Status]] = {
    "samples_in_an_ignored_folder": (
        {
            "pytest.ini": "[pytest]\nnorecursedirs = projects\n",
            "tests/test_a.py": FINE,
            "tests/projects/one/loop.py": "",
            "tests/projects/one/test_loop.py": "import loop\n\n\ndef test_it():\n    assert loop.missing\n",
        },
        Status.PARTIAL,
    ),
    "a_base_class_that_is_off": (
        {
            "tests/test_a.py": "class TestBase:\n    __test__ = False\n\n    def test_it(self):\n"
            "        assert self.value\n\n\n"
            "class TestOne(TestBase):\n    __test__ = True\n    value = 1\n"
        },
        Status.PASS,
    ),
    "a_model_that_is_called_test": (
        {
            "tests/test_a.py": f"class TestOutcome:\n    __test__ = False\n\n"
            f"    def __init__(self):\n        pass\n\n\n{FINE}"
        },
        Status.PASS,
    ),
    "a_helper_that_is_off": (
        {
            "tests/test_helpers.py": "__test__ = False\n\n\ndef test_value():\n    return 2\n",
            "tests/test_a.py": "import test_helpers\n\n\ndef test_it():\n    assert test_helpers.test_value() == 2\n",
        },
        Status.PARTIAL,
    ),
    "generated": (
        {
            "tests/test_a.py": "def _made(n):\n    def test():\n        assert n < 3\n    return test\n\n\n"
            "for n in range(3):\n    globals()[f'test_{n}'] = _made(n)\n"
        },
        Status.PASS,
    ),
    "parametrised_from_data": (
        {
            "tests/test_a.py": "import pathlib\n\nimport pytest\n\n"
            "FILES = sorted(pathlib.Path('data').glob('*.txt'))\n\n\n"
            f"@pytest.mark.parametrize('file', FILES)\ndef test_file(file):\n    assert file.read_text()\n\n\n{FINE}"
        },
        Status.PARTIAL,
    ),
    "parametrised_by_a_hook": (
        {
            "conftest.py": "def pytest_generate_tests(metafunc):\n    if 'x' in metafunc.fixturenames:\n"
            "        metafunc.parametrize('x', [1, 2])\n",
            "tests/test_a.py": "def test_it(x):\n    assert x\n",
        },
        Status.PASS,
    ),
    "workers_and_coverage": (
        {"pytest.ini": "[pytest]\naddopts = -n 2 -p xdist --cov=train -q\n", "tests/test_a.py": FINE},
        Status.PASS,
    ),
    "an_optional_dependency": (
        {
            "conftest.py": "import importlib.util\n\ncollect_ignore = []\n"
            "if importlib.util.find_spec('no_such_package') is None:\n"
            "    collect_ignore.append('tests/test_b.py')\n",
            "tests/test_a.py": FINE,
            "tests/test_b.py": "import no_such_package\n\n\ndef test_it():\n    assert no_such_package\n",
        },
        Status.PARTIAL,
    ),
    "slow_tests_by_an_option": (
        {
            "conftest.py": "import pytest\n\n\ndef pytest_addoption(parser):\n"
            "    parser.addoption('--runslow', action='store_true')\n\n\n"
            "def pytest_collection_modifyitems(config, items):\n    if not config.getoption('--runslow'):\n"
            "        for item in items:\n            if 'slow' in item.keywords:\n"
            "                item.add_marker(pytest.mark.skip(reason='slow'))\n",
            "pytest.ini": "[pytest]\nmarkers = slow\n",
            "tests/test_a.py": f"import pytest\n\n\n@pytest.mark.slow\ndef test_long():\n    assert 1\n\n\n{FINE}",
        },
        Status.PASS,
    ),
    "scripts_that_are_called_test": (
        {"pytest.ini": "[pytest]\npython_files = test_*.py\n", "tests/test_a.py": FINE, "tests/load_test.py": FAILS},
        Status.PARTIAL,
    ),
    "a_suite_of_its_own": (
        {
            "pytest.ini": "[pytest]\ntestpaths = tests/unit\n",
            "tests/unit/test_a.py": FINE,
            "tests/gpu/test_b.py": FAILS,
        },
        Status.PARTIAL,
    ),
    "examples_beside_the_tests": (
        {"pytest.ini": "[pytest]\ntestpaths = tests\n", "tests/test_a.py": FINE, "examples/test_model.py": FAILS},
        Status.PASS,
    ),
}
"""Twin -> the project's files, and the status of a check that does not block."""


def run(root: Path, files: dict[str, str], **execution: Any) -> StageResult:
    for path, text in {"pytest.ini": "", "train.py": TRAIN, **files}.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text, encoding="utf-8")
    wanted = {"seconds": 60.0, "coverage": False, "recorder": False, "emulate_cuda": False} | execution
    settings = Settings(root=root, today=dt.date(2026, 1, 1), execution=ExecutionSettings(**wanted))
    return ExecutionStage().run(StageContext(settings, read_sources(root, ["."]), Subject(root, Path(sys.executable))))


def check(result: StageResult, name: str = "tests-collected") -> Check:
    return next(check for check in result.checks if check.id == f"execution.{name}")


@pytest.fixture(autouse=True)
def _no_questions(monkeypatch: pytest.MonkeyPatch) -> None:
    """The interpreter is not asked what it is: that takes seconds."""
    answers = {"pytest": pytest.__version__, "python": "3"}
    monkeypatch.setattr("verifygate.execution.stage.ask", lambda *_: Interpreter(answers))


@pytest.mark.slow
@pytest.mark.parametrize("way", HIDDEN)
def test_what_was_taken_away_blocks(tmp_path: Path, way: str) -> None:
    files, said = HIDDEN[way]
    result = run(tmp_path, files)
    found = check(result)
    assert check(result, "tests-ran").status is Status.PASS, "the run by itself shows nothing"
    assert (found.status, found.required) == (Status.PARTIAL, True)
    assert said in found.actual
    assert found.evidence
    assert "`execution.uncollected`" in found.remedy


@pytest.mark.slow
@pytest.mark.parametrize("twin", HONEST)
def test_an_honest_twin_does_not_block(tmp_path: Path, twin: str) -> None:
    files, status = HONEST[twin]
    result = run(tmp_path, files)
    found = check(result)
    assert (found.status, found.required) == (status, False), found.actual
    assert check(result, "tests-pass").status is Status.PASS


@pytest.mark.slow
def test_the_policy_may_say_otherwise(tmp_path: Path) -> None:
    files, _ = HIDDEN["norecursedirs"]
    assert check(run(tmp_path, files, uncollected=("tests/step/*",))).status is Status.PASS
