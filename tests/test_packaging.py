"""The tree, the pins, the wheel, and the commands that set everything up."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tomllib
from importlib.metadata import version
from pathlib import Path, PurePosixPath

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parent.parent
TOP_LEVEL = {
    "pyproject.toml",
    "README.md",
    "verifygate",
    "reference_impl",
    "tests",
    "reports",
    "LICENSE",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "Makefile",
    "verifygate.gallery.toml",
    "verifygate.toml",
    "constraints.txt",
    "requirements-hashed.txt",
    "hatch_build.py",  # where hatchling looks for it
    "action.yml",  # where `uses: OWNER/REPOSITORY@COMMIT` looks for it
}
MACHINE_FOLDERS = ("work", "farm", r"root/\.pyenv", r"opt/(wheels|pypi)", r"tmp/(vg|bash_jobs|pkgtest)")
MAX_LINES = 450
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def git(*arguments: str) -> list[str]:
    """The lines that git prints; none where it found nothing."""
    ended = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True)
    assert ended.returncode in (0, 1), ended.stderr
    return ended.stdout.splitlines()


def tree(*patterns: str) -> list[str]:
    """Every file that is tracked, or would be after `git add`."""
    listed = git("ls-files", "--cached", "--others", "--exclude-standard", "--", *patterns)
    return sorted({path for path in listed if (ROOT / path).is_file()})


def pins() -> dict[str, str]:
    """Name and version of every line of constraints.txt."""
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    found = [re.fullmatch(r"([a-z0-9-]+)==([0-9a-z.]+)", line) for line in lines if not line.startswith("#")]
    assert all(found), "every line of constraints.txt is `name==version`"
    return {match[1]: match[2] for match in found if match}


def direct_requirements() -> list[Requirement]:
    extras = PROJECT["optional-dependencies"].values()
    texts = [*PROJECT["dependencies"], *(text for extra in extras for text in extra)]
    return [requirement for requirement in map(Requirement, texts) if requirement.name != PROJECT["name"]]


def test_top_level_holds_only_the_house():
    """Whoever opens the repository sees the rooms and nothing else."""
    tops = {PurePosixPath(path).parts[0] for path in tree()}
    assert {name for name in tops - TOP_LEVEL if not name.startswith(".")} == set()


def test_no_file_names_a_folder_of_the_machine_it_was_written_on():
    """Such a path means nothing to anybody else."""
    pattern = rf"(^|[^A-Za-z0-9_.])/({'|'.join(MACHINE_FOLDERS)})(/|$)"
    assert git("grep", "--untracked", "-nIE", pattern, "--", ".") == []


def test_modules_stay_short():
    """A module past this length has more than one purpose."""
    lengths = {path: (ROOT / path).read_bytes().count(b"\n") for path in tree("verifygate/*.py", "reference_impl/*.py")}
    assert {path: length for path, length in lengths.items() if length > MAX_LINES} == {}


def test_classifiers_are_the_pythons_that_ci_runs():
    """Nothing is promised that is not tested, and nothing tested that is not promised."""
    ci = yaml.safe_load((ROOT / ".github/workflows/ci.yml").read_text(encoding="utf-8"))
    tested = ci["jobs"]["test"]["strategy"]["matrix"]["python"]
    prefix = "Programming Language :: Python :: 3."
    promised = ["3." + text.removeprefix(prefix) for text in PROJECT["classifiers"] if text.startswith(prefix)]
    assert promised == tested
    assert PROJECT["requires-python"] == f">={tested[0]}"


@pytest.mark.parametrize("requirement", direct_requirements(), ids=str)
def test_every_dependency_is_pinned_within_its_range(requirement: Requirement):
    """What pyproject.toml allows, constraints.txt settles."""
    pinned = pins().get(canonicalize_name(requirement.name))
    assert pinned is not None
    assert requirement.specifier.contains(pinned)


def test_torch_is_pinned_to_what_was_measured():
    """The docs, the emulation and the proofs state facts about this version."""
    assert pins()["torch"] == "2.13.0"


@pytest.mark.parametrize("name", ["torch", "pydantic", "libcst", "pytest"])
def test_the_pins_are_what_is_installed(name: str):
    """A test run on other versions would say nothing about the pinned ones."""
    assert version(name).partition("+")[0] == pins()[name]


def test_help_lists_every_target():
    """`make help` cannot fall behind the Makefile."""
    text = (ROOT / "Makefile").read_text(encoding="utf-8")
    (phony,) = re.findall(r"^\.PHONY: (.*)$", text, flags=re.MULTILINE)
    shown = make("help", cwd=ROOT).stdout
    assert re.findall(r"^make ([\w-]+)", shown, flags=re.MULTILINE) == phony.split()


FAKE_PYTHON = """#!/bin/sh
echo "$@" >> calls
case "$*" in
  *"-c import sys"*) exit {too_old} ;;
  *"-m venv"*) rm -rf .venv && mkdir -p .venv/bin && cp "$0" .venv/bin/python ;;
esac
"""


def make(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    clean = {name: value for name, value in os.environ.items() if not name.startswith("MAKE") and name != "PYTHON"}
    return subprocess.run(["make", *arguments], cwd=cwd, env=clean, capture_output=True, text=True)


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """A place with the files that the set-up reads, and a Python that only writes down what it was asked to do."""
    for name in ("Makefile", "pyproject.toml", "constraints.txt"):
        shutil.copy(ROOT / name, tmp_path)
    write_program(tmp_path / "python", FAKE_PYTHON.format(too_old=0))
    return tmp_path


def write_program(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8")
    path.chmod(0o755)


def installs(clone: Path) -> int:
    return (clone / "calls").read_text(encoding="utf-8").count("-c constraints.txt -e .[dev]")


def test_set_up_happens_once(clone: Path):
    """A second call does nothing; a changed pin installs again, into the environment that is there."""
    for _ in range(2):
        assert make("setup", "PYTHON=./python", cwd=clone).returncode == 0
    assert installs(clone) == 1
    os.utime(clone / ".venv/.ready", (0, 0))
    assert make("setup", "PYTHON=./python", cwd=clone).returncode == 0
    assert installs(clone) == 2
    assert (clone / "calls").read_text(encoding="utf-8").count("-m venv") == 1


def test_broken_environment_is_built_anew(clone: Path):
    """An environment whose Python is gone does not stop the set-up."""
    (clone / ".venv/bin").mkdir(parents=True)
    (clone / ".venv/bin/python").symlink_to(clone / "gone")
    assert make("setup", "PYTHON=./python", cwd=clone).returncode == 0
    assert installs(clone) == 1


def test_old_python_is_refused_with_the_way_out(clone: Path):
    """The message says what is needed and how to give it; nothing is left that looks ready."""
    write_program(clone / "python", FAKE_PYTHON.format(too_old=1))
    ended = make("setup", "PYTHON=./python", cwd=clone)
    assert ended.returncode != 0
    assert "needs Python 3.11 or newer (tried: ./python): make PYTHON=" in ended.stderr
    assert not (clone / ".venv/.ready").exists()


CLOSING = "=================== 3 passed in 0.10s ==================="
FAILED = "============== 1 failed, 2 passed in 0.10s =============="
NOTHING = "================= no tests ran in 0.01s ================="


@pytest.mark.parametrize(
    ("printed", "status", "passes", "last"),
    [
        (CLOSING, 0, True, CLOSING),
        (f"{FAILED}\\nmake: *** [Makefile:30: test] Error 1", 2, False, FAILED),
        (f"{NOTHING}\\nmake: *** [Makefile:30: test] Error 5", 2, False, NOTHING),
        ("collecting ...", 0, False, ".ci/run: pytest did not come to an end"),
        ("E501 Line too long", 2, False, ".ci/run: pytest did not come to an end"),
    ],
    ids=["green", "red", "nothing collected", "died silently", "lint"],
)
def test_ci_passes_only_on_a_green_end(tmp_path: Path, printed: str, status: int, passes: bool, last: str):
    """CI's own command, on a `make` that ends in each of these ways."""
    write_program(tmp_path / "make", f"#!/bin/sh\nprintf '{printed}\\n'\nexit {status}\n")
    env = os.environ | {"PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}", "CI": "true"}
    ended = subprocess.run(
        [ROOT / ".ci/run"],
        env=env,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    assert (ended.returncode == 0) == passes
    assert ended.stdout.splitlines()[-1] == last
