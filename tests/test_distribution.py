"""The distribution: its name, its metadata, and what is in the wheel and the sdist, tried in a clean environment."""

from __future__ import annotations

import io
import json
import re
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from email.message import Message
from email.parser import Parser
from pathlib import Path, PurePosixPath
from typing import NamedTuple

import pytest

from verifygate import __version__
from verifygate.base.distribution import DISTRIBUTION, install

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
CASES = "verifygate/quality/qualification/cases.zip"
OTHER_PROJECT = re.compile(r"pip3? install [^\n`]*?(?<![\w./-])verifygate(?![\w-])")
FAULTY = """\
import torch


def train(model, batches, loss_fn):
    optimizer = torch.optim.AdamW(model.parameters())
    scaler = torch.amp.GradScaler("cuda")
    for inputs, targets in batches:
        optimizer.zero_grad()
        with torch.autocast("cuda", dtype=torch.float16):
            loss = loss_fn(model(inputs), targets)
        scaler.scale(loss).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
"""


class Built(NamedTuple):
    sdist: Path
    wheel: Path


def run(*command: str | Path, cwd: Path = ROOT) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True)


def succeeded(*command: str | Path, cwd: Path = ROOT) -> str:
    ended = run(*command, cwd=cwd)
    assert ended.returncode == 0, f"{command}\n{ended.stdout}\n{ended.stderr}"
    return ended.stdout


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Built:
    """The sdist, and the wheel that is built from it: what `python -m build` makes in the release workflow."""
    folder = tmp_path_factory.mktemp("dist")
    succeeded(sys.executable, "-m", "build", "--no-isolation", "--outdir", folder)
    (sdist,), (wheel,) = folder.glob("*.tar.gz"), folder.glob("*.whl")
    return Built(sdist, wheel)


@pytest.fixture(scope="module")
def clean(built: Built, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The programs of an environment in which only the wheel and what it asks for are installed."""
    folder = tmp_path_factory.mktemp("clean") / "environment"
    succeeded(sys.executable, "-m", "venv", folder)
    pip = (folder / "bin/python", "-m", "pip", "--disable-pip-version-check", "--no-input")
    named = f"{DISTRIBUTION}=={__version__}"  # by name, as from the index: a path would be kept in its metadata
    succeeded(*pip, "install", "--quiet", "-c", ROOT / "constraints.txt", "--find-links", built.wheel.parent, named)
    succeeded(*pip, "check")
    return folder / "bin"


def metadata(wheel: Path) -> Message:
    archive = zipfile.ZipFile(wheel)
    (name,) = (each for each in archive.namelist() if each.endswith(".dist-info/METADATA"))
    return Parser().parsestr(archive.read(name).decode())


def tracked(*patterns: str) -> set[str]:
    """Every file that is in git, or would be after `git add`."""
    listed = succeeded("git", "ls-files", "--cached", "--others", "--exclude-standard", "--", *patterns).splitlines()
    return {path for path in listed if (ROOT / path).is_file()}


def test_the_name_is_the_same_in_code_and_in_metadata() -> None:
    assert PROJECT["name"] == DISTRIBUTION
    assert install("sign") == "pip install 'verifygate-amp[sign]'"
    assert PROJECT["scripts"] == {"verifygate": "verifygate.cli:main"}


def test_every_extra_that_code_names_is_there() -> None:
    """`install("...")` in the code leads to an extra of pyproject.toml."""
    named = {
        extra
        for path in (ROOT / "verifygate").rglob("*.py")
        if path.name != "distribution.py"
        for extra in re.findall(r"\binstall\(['\"](\w+)['\"]\)", path.read_text(encoding="utf-8"))
    }
    assert named >= {"performance", "sign", "slurm", "torch"}
    assert named - set(PROJECT["optional-dependencies"]) == set()


def test_nothing_tells_anybody_to_install_the_other_project() -> None:
    """`pip install verifygate` would install something else, wherever it stands."""
    assert OTHER_PROJECT.search("pip install 'verifygate[torch]'")
    assert not OTHER_PROJECT.search("pip install 'verifygate-amp[torch]'")
    texts = {path: (ROOT / path).read_text(encoding="utf-8", errors="replace") for path in tracked() - {_this()}}
    assert len(texts) > 500
    assert [path for path, text in texts.items() if OTHER_PROJECT.search(text)] == []


def _this() -> str:
    return Path(__file__).relative_to(ROOT).as_posix()


def test_readme_has_the_line_for_a_machine_without_a_gpu() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert "add `--extra-index-url https://download.pytorch.org/whl/cpu`" in readme


@pytest.mark.slow
def test_wheel_holds_every_file_of_the_package(built: Built) -> None:
    """Docs, templates, schemas and the packed cases travel with the code, and nothing else does."""
    wheel = zipfile.ZipFile(built.wheel)
    held = {name for name in wheel.namelist() if ".dist-info/" not in name}
    assert held == tracked("verifygate") | {CASES}
    packed = zipfile.ZipFile(io.BytesIO(wheel.read(CASES)))
    assert {f"tests/static/cases/{name}" for name in packed.namelist()} == tracked("tests/static/cases")
    for kind in (
        "verifygate/docs/*.md",
        "verifygate/report/templates/*",
        "verifygate/execution/templates/*",
        "*schema*.json",
        "verifygate/py.typed",
    ):
        assert any(PurePosixPath(name).match(kind) for name in held), kind


@pytest.mark.slow
def test_sdist_holds_what_the_wheel_is_built_of(built: Built) -> None:
    top = f"{DISTRIBUTION.replace('-', '_')}-{__version__}/"
    assert built.sdist.name == f"{top.rstrip('/')}.tar.gz"
    with tarfile.open(built.sdist) as archive:
        held = {name.removeprefix(top) for name in archive.getnames()}
    beside = {"README.md", "LICENSE", "CHANGELOG.md", "pyproject.toml", "PKG-INFO", "hatch_build.py"}
    beside |= tracked("tests/static/cases")
    assert {name for name in held if not name.startswith("verifygate/")} - {".gitignore"} == beside


@pytest.mark.slow
def test_metadata_says_what_is_known_and_nothing_of_this_machine(built: Built) -> None:
    said = metadata(built.wheel)
    assert (said["Name"], said["Version"]) == (DISTRIBUTION, __version__)
    assert said["License-Expression"] == "Apache-2.0"
    assert said["Author"]
    assert said["Keywords"]
    assert said.get_payload() == (ROOT / "README.md").read_text(encoding="utf-8")
    assert "Private :: Do Not Upload" not in said.get_all("Classifier", [])
    assert str(ROOT) not in str(said)


@pytest.mark.slow
def test_it_works_in_a_clean_environment(clean: Path, tmp_path: Path) -> None:
    """Without torch and far from this repository: it finds the fault, explains it, and runs the static stage."""
    verifygate = clean / "verifygate"
    (tmp_path / "train.py").write_text(FAULTY, encoding="utf-8")
    assert succeeded(verifygate, "--version", cwd=tmp_path) == f"verifygate {__version__}\n"
    found = run(verifygate, "check", "train.py", cwd=tmp_path)
    assert (found.returncode, found.stdout.splitlines()[0][:23]) == (1, "train.py:12:9: AMP201 c")
    assert "clip-before-unscale" in succeeded(verifygate, "explain", "AMP201", cwd=tmp_path)
    ended = run(verifygate, "run", "--stage", "static", "--format", "md,html,sarif,junit,gitlab", cwd=tmp_path)
    assert ended.returncode == 1, ended.stderr
    assert (tmp_path / "reports/latest/report.html").is_file()
    succeeded(verifygate, "fix", "train.py", cwd=tmp_path)
    succeeded(verifygate, "check", "train.py", cwd=tmp_path)


@pytest.mark.slow
def test_the_qualification_kit_runs_from_the_wheel(clean: Path, tmp_path: Path) -> None:
    """The cases come with it, and the files are those that its RECORD lists."""
    succeeded(
        clean / "verifygate", "evidence", "qualification", "--output", "kit", "--run", "--rule", "AMP201", cwd=tmp_path
    )
    kit = json.loads((tmp_path / "kit/qualification.json").read_text(encoding="utf-8"))
    (rule,) = kit["rules"]
    assert rule["failed"] == []
    assert rule["ran"] == rule["bad"] + rule["good"] + rule["examples"] > 50
    assert (kit["identification"]["installed"], kit["identification"]["altered"]) == ("from a wheel", [])


@pytest.mark.slow
def test_what_needs_an_extra_names_the_distribution(clean: Path, tmp_path: Path) -> None:
    """The command in the message installs this project, and not the other one."""
    proof = run(clean / "verifygate", "explain", "AMP201", "--prove", cwd=tmp_path)
    assert proof.returncode == 2
    assert install("torch") in proof.stderr


@pytest.mark.slow
def test_the_bill_of_materials_lists_what_is_installed(clean: Path, tmp_path: Path) -> None:
    """The command of the release workflow makes a valid CycloneDX file with this project and its dependencies."""
    workflow = (ROOT / ".github/workflows/release.yml").read_text(encoding="utf-8")
    (command,) = re.findall(r"cyclonedx-py environment .*", workflow)
    out = tmp_path / "sbom.cdx.json"
    places = {"sbom/bin/python": str(clean / "python"), "dist-sbom/sbom.cdx.json": str(out)}
    words = [places.get(word, word) for word in command.split()]
    succeeded(Path(sys.executable).parent / words[0], *words[1:])
    bill = json.loads(out.read_text(encoding="utf-8"))
    named = {component["name"] for component in bill["components"]}
    dependencies = {re.split(r"[^\w-]", text)[0].lower() for text in PROJECT["dependencies"]}
    assert bill["bomFormat"] == "CycloneDX"
    assert {name.lower() for name in named} >= dependencies | {DISTRIBUTION}
    assert "file://" not in out.read_text(encoding="utf-8")
