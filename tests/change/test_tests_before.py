"""Tests too are new against old: what was red or put aside before a change does not block it, and is said."""

from __future__ import annotations

import sys
import venv
from pathlib import Path
from typing import Any

import pytest

import verifygate
from verifygate.cli import main

pytestmark = pytest.mark.slow

RED = "import helper\n\n\ndef test_red():\n    assert helper.value() == 2\n\n\ndef test_green():\n    pass\n"
HELPER = "def value():\n    return 1\n"
RUN = ["run", "--stage", "execution", "--since", "main"]


@pytest.fixture
def red(repository: Any) -> Any:
    """A branch off a main on which a test is red."""
    repository.commit(old__py="import torch\n", test_it__py=RED, helper__py=HELPER, pytest__ini="[pytest]\n")
    repository.git("checkout", "-qb", "change")
    return repository


def check_of(repository: Any, name: str) -> dict[str, Any]:
    (stage,) = (stage for stage in repository.report["stages"] if stage["stage"] == "execution")
    (found,) = (check for check in stage["checks"] if check["id"] == f"execution.{name}")
    return found  # type: ignore[no-any-return]


def test_a_test_that_was_red_does_not_block(red: Any, capsys: pytest.CaptureFixture[str]):
    """It stays FAIL, earns nothing, and is shown on the first screen."""
    red.commit(README__md="a note\n")

    assert main(RUN) == 0
    found = check_of(red, "tests-pass")
    assert (found["status"], found["inherited"][:30]) == ("FAIL", "what did not pass was red befo")
    assert "1 red before, at " in found["actual"]
    assert "not shown     execution.tests-pass is FAIL: 1 red before, at " in capsys.readouterr().out
    assert "**FAIL**, so before this change" in red.page[: red.page.index("| Stage |")]
    assert main(["run", "--stage", "execution"]) == 1, "main itself is red"


def test_a_newly_red_test_blocks_and_the_other_one_is_told_apart(red: Any):
    red.write("test_more.py", "def test_new():\n    assert 0\n")
    red.write("helper.py", HELPER.replace("1", "3"))
    red.write("test_it.py", RED.replace("    pass", "    assert helper.value() == 1"))

    assert main(RUN) == 1
    actual = check_of(red, "tests-pass")["actual"]
    assert actual.startswith("2 did not pass: test_it.py::test_green")
    assert "test_it.py::test_green passed at " in actual
    assert "; 1 red before, at " in actual


def test_a_test_that_a_change_alters_is_its_own_to_answer_for(red: Any):
    red.write("test_it.py", RED.replace("== 2", "== 4"))

    assert main(RUN) == 1
    assert "this change alters the test" in check_of(red, "tests-pass")["actual"]


def test_comments_and_lines_above_alter_nothing(red: Any):
    red.write("test_it.py", "# a note\n\n" + RED.replace("== 2", "== 2  # why"))

    assert main(RUN) == 0


def test_a_test_that_fails_in_another_way_is_newly_red(red: Any):
    red.write("helper.py", "def value():\n    raise KeyError('gone')\n")

    assert main(RUN) == 1
    assert "in another way" in check_of(red, "tests-pass")["actual"]


def test_a_test_file_that_is_renamed_is_followed(red: Any):
    red.git("mv", "test_it.py", "test_other.py")
    red.commit()

    assert main(RUN) == 0


def test_a_project_in_a_folder_of_its_repository(red: Any, monkeypatch: pytest.MonkeyPatch):
    """What changes beside it is no change of it."""
    red.git("checkout", "-q", "main")
    for path, text in {"test_it.py": RED, "helper.py": HELPER, "pytest.ini": "[pytest]\n"}.items():
        red.git("rm", "-q", path)
        red.write(f"part/{path}", text)
    red.commit()
    red.git("checkout", "-q", "-B", "change")
    red.commit(other__py="import torch\n")
    monkeypatch.chdir(red.folder / "part")

    assert main(RUN) == 0
    (red.folder / "part/helper.py").write_text("def value():\n    raise KeyError\n", encoding="utf-8")
    assert main(RUN) == 1


def test_a_file_that_git_ignores_was_there_too(red: Any):
    """Generated code makes no test red that was green: what broke now is new."""
    red.git("checkout", "-q", "main")
    red.write(".gitignore", "reports/\nmade.py\n")
    red.write("made.py", "TWO = 2\n")
    red.commit(test_it__py="import made\nimport helper\n\n\ndef test_it():\n    assert helper.value() < made.TWO\n")
    red.git("checkout", "-q", "-B", "change")
    red.commit(helper__py=HELPER.replace("1", "7"))

    assert main(RUN) == 1
    assert "test_it.py::test_it passed at " in check_of(red, "tests-pass")["actual"]


def test_where_it_cannot_be_known_it_blocks_and_says_so(red: Any):
    """The tests of then import the code of now: nobody knows what they did then."""
    red.git("checkout", "-q", "main")
    red.commit(conftest__py=f"import sys\n\nsys.path.insert(0, {str(red.folder)!r})\nimport helper\n")
    red.git("checkout", "-q", "-B", "change")

    assert main(RUN) == 1
    found = check_of(red, "tests-pass")
    assert "whether it was so before is not known: the tests there import helper.py of this tree" in found["actual"]
    assert not found["inherited"]


SKIPPED = (
    "import pytest\n\n\n@pytest.mark.skip(reason='later')\ndef test_one():\n    pass\n\n\ndef test_green():\n    pass\n"
)
RAN = SKIPPED.replace("@pytest.mark.skip(reason='later')\n", "")


@pytest.mark.parametrize(
    ("before", "now", "code"),
    [
        (SKIPPED, SKIPPED, 0),
        (RAN, SKIPPED, 1),
        (RAN, SKIPPED.replace("skip(", "xfail("), 0),
        ("def test_other():\n    pass\n", SKIPPED, 0),
        (RAN.replace("    pass", "    assert 0", 1), SKIPPED, 1),
    ],
    ids=["skipped before", "newly skipped", "expected to fail and passes", "new and skipped", "red, and now skipped"],
)
def test_a_newly_skipped_test_blocks(repository: Any, before: str, now: str, code: int):
    repository.commit(old__py="import torch\n", test_it__py=before)
    repository.git("checkout", "-qb", "change")
    repository.commit(test_it__py=now)

    assert main(RUN) == code
    found = check_of(repository, "skipped")
    assert found["required"] is bool(code)
    assert ("newly so since" in found["actual"]) is bool(code)


def test_a_required_test_that_was_red_does_not_block(repository: Any):
    repository.write("verifygate.toml", '[execution]\nrequired = ["test_it.py"]\n')
    repository.commit(old__py="import torch\n", test_it__py=RED, helper__py=HELPER)
    repository.git("checkout", "-qb", "change")

    assert main(RUN) == 0
    assert check_of(repository, "required-tests")["inherited"]
    repository.write("helper.py", "def value():\n    raise KeyError\n")
    assert main(RUN) == 1


def test_an_installed_project_is_asked_too(red: Any, tmp_path_factory: pytest.TempPathFactory):
    """Its folder stands on the interpreter's module path (`pip install -e`); the folder of then takes its place."""
    red.git("checkout", "-q", "main")
    red.git("rm", "-q", "helper.py", "pytest.ini")
    red.commit(test_it__py=RED)
    red.write("lib/helper.py", HELPER)
    red.commit()
    red.git("checkout", "-q", "-B", "change")
    environment = tmp_path_factory.mktemp("environment") / "venv"
    venv.create(environment, system_site_packages=True, symlinks=True)
    python = environment / "bin/python"
    (packages,) = environment.glob("lib/python*/site-packages")
    beside = [path for path in sys.path if path.endswith("site-packages")]
    beside.append(str(Path(verifygate.__file__).parents[1]))  # whose plugin pytest loads by its entry point
    (packages / "project.pth").write_text("\n".join([str(red.folder / "lib"), *beside]), encoding="utf-8")
    red.write("verifygate.toml", f'[execution]\ninterpreter = "{python}"\n')

    assert main([*RUN, "--accept-policy"]) == 0
    assert "1 red before" in check_of(red, "tests-pass")["actual"]
    red.write("lib/helper.py", "def value():\n    raise KeyError('gone')\n")
    assert main([*RUN, "--accept-policy"]) == 1


EMULATED = """\
import pytest
import torch


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs CUDA")
def test_cuda():
    assert torch.ones(1, device="cuda").device.type == "mps"


def test_green():
    pass
"""


def test_with_cuda_emulated_a_test_that_was_red_does_not_block(repository: Any):
    pytest.importorskip("torch")
    repository.commit(old__py="import torch\n", test_it__py=EMULATED)
    repository.git("checkout", "-qb", "change")
    repository.commit(more__py="import torch\n")

    assert main(RUN) == 0
    found = check_of(repository, "emulated")
    assert (found["status"], found["inherited"][:22]) == ("FAIL", "what failed was red be")
    repository.write("test_it.py", EMULATED.replace('"mps"', '"xpu"'))
    assert main(RUN) == 1
