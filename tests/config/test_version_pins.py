"""The versions that a project allows of torch and of frameworks, from every file in which projects say them."""

from __future__ import annotations

from pathlib import Path

import pytest

from verifygate.config.tree_versions import versions_of_tree
from verifygate.config.version_pins import FolderFiles, VersionRange, allowed_versions

POETRY_LOCK = '[[package]]\nname = "torch"\nversion = "{}"\n\n[[package]]\nname = "torchvision"\nversion = "0.16"\n'


@pytest.mark.parametrize(
    ("name", "text", "allowed"),
    [
        ("requirements.txt", "torch==2.1.0\n", "2.1"),
        ("requirements.txt", "numpy\ntorch==2.1.0+cu118  # CUDA\ntorchvision==0.16\n", "2.1"),
        ("requirements.txt", "torch>=1.13\n", ">=1.13"),
        ("requirements.txt", "torch >=1.13, <2.4 ; python_version < '3.12'\n", ">=1.13,<2.4"),
        ("requirements.txt", "torch<=2.3.1\n", "<=2.3.1"),
        ("requirements.txt", "torch~=2.3.0\n", ">=2.3,<2.4"),
        ("requirements.txt", "Torch ~= 2.2\n", ">=2.2,<3.0"),
        ("requirements.txt", "torch==2.3.*\n", ">=2.3,<2.4"),
        ("requirements.txt", "torch!=2.0.1,>=2.0\n", ">=2.0"),
        ("requirements.txt", "torch\n", ""),
        ("requirements.txt", "torchvision>=0.9\ntorch-scatter==2.1\ntorch_geometric==2.3\n", ""),
        ("requirements.txt", "torch==2.1.2 \\\n    --hash=sha256:0123\n", "2.1.2"),
        ("requirements.txt", "torch[opt]==2.2.0\n", "2.2"),
        (
            "requirements.txt",
            "https://download.pytorch.org/whl/cu118/torch-2.0.1%2Bcu118-cp310-cp310-linux.whl\n",
            "2.0.1",
        ),
        ("requirements.txt", "torch @ https://download.pytorch.org/whl/torch-2.0.1-cp310-none-any.whl\n", "2.0.1"),
        ("requirements-gpu.txt", "torch==1.13.1\n", "1.13.1"),
        ("requirements/base.txt", "torch==1.12\n", "1.12"),
        ("constraints.txt", "torch<2.3\n", "<2.3"),
        ("docs/requirements.txt", "torch<2.3\n", ""),
        ("setup.cfg", "[options]\ninstall_requires =\n    numpy\n    torch>=2.0,<2.3\n", ">=2.0,<2.3"),
        ("setup.cfg", "[options]\ninstall_requires = torch>=2.0\n", ">=2.0"),
        (
            "setup.py",
            'from setuptools import setup\nNEEDS = ["numpy", "torch>=1.9"]\nsetup(install_requires=NEEDS)\n',
            ">=1.9",
        ),
        ("setup.py", 'setup(extras_require={"gpu": ["torch==2.2"]}, keywords="torch")\n', "2.2"),
        ("setup.py", "setup(install_requires=[", ""),
        ("environment.yml", "dependencies:\n  - python=3.10\n  - pytorch=2.1\n  - pytorch-cuda=11.8\n", ">=2.1,<2.2"),
        ("environment.yml", "dependencies:\n  - pytorch::pytorch=2.0.1=py3.10_cuda11.7\n", ">=2.0.1,<2.0.2"),
        ("environment.yaml", "dependencies:\n  - 'pytorch >=2.0,<2.4'\n", ">=2.0,<2.4"),
        ("environment.yml", "dependencies:\n  - pip\n  - pip:\n    - torch==1.13.1\n", "1.13.1"),
        ("environment.yml", "dependencies:\n  - pytorch 2.1.*\n  - torchvision\n", ">=2.1,<2.2"),
        ("pyproject.toml", '[project]\ndependencies = ["torch>=2.1,<3"]', ">=2.1,<3.0"),
        (
            "pyproject.toml",
            "[project]\ndependencies = [\"torch>=2.4; python_version>='3.12'\", \"torch>=2.1; python_version<'3.12'\"]",
            ">=2.1",
        ),
        ("pyproject.toml", '[project]\ndependencies = ["torch"]', ""),
        ("pyproject.toml", '[project]\nkeywords = ["torch"]\ndependencies = ["torch<2.3", "torchvision>=0.2"]', "<2.3"),
        ("pyproject.toml", '[project.optional-dependencies]\ngpu = ["torch>=2.2"]', ">=2.2"),
        ("pyproject.toml", '[project.optional-dependencies]\ntorch = ["torch>=2.4"]', ">=2.4"),
        ("pyproject.toml", '[dependency-groups]\ntrain = ["torch==2.0", {include-group = "dev"}]', "2.0"),
        ("pyproject.toml", '[tool.poetry.dependencies]\ntorch = "^2.1"', ">=2.1,<3.0"),
        ("pyproject.toml", '[tool.poetry.dependencies]\ntorch = "~2.1"', ">=2.1,<2.2"),
        ("pyproject.toml", '[tool.poetry.dependencies]\ntorch = "2.1.0"', "2.1"),
        (
            "pyproject.toml",
            '[tool.poetry.dependencies]\ntorch = {version = ">=2.2,<3", source = "pytorch"}',
            ">=2.2,<3.0",
        ),
        (
            "pyproject.toml",
            '[tool.poetry.group.gpu.dependencies]\ntorch = [{version = "1.13.1"}, {version = "^2.1"}]',
            ">=1.13.1,<3.0",
        ),
        ("pyproject.toml", '[tool.poetry.dependencies]\ntorch = "*"', ""),
        ("pyproject.toml", '[tool.uv]\nconstraint-dependencies = ["torch<2.3"]', "<2.3"),
        ("pyproject.toml", "torch = [broken", ""),
        ("pyproject.toml", '[project]\ndependencies = "torch>=2.1"', ""),
        ("pyproject.toml", '[project]\ndependencies = ["torch >= two", 3]', ""),
        ("Pipfile", '[packages]\ntorch = "==2.1.0"\n', "2.1"),
        ("Pipfile.lock", '{"default": {"torch": {"version": "==2.1.0"}}, "develop": {}}', "2.1"),
        ("Pipfile.lock", "{", ""),
        ("poetry.lock", POETRY_LOCK.format("2.2.1"), "2.2.1"),
        ("uv.lock", POETRY_LOCK.format("2.3.0+cpu"), "2.3"),
    ],
)
def test_every_way_to_name_the_versions_of_torch(name: str, text: str, allowed: str, tmp_path: Path):
    """What cannot be read says nothing."""
    file = tmp_path / name
    file.parent.mkdir(exist_ok=True)
    file.write_text(text, encoding="utf-8")

    assert allowed_versions(FolderFiles(tmp_path)).get("torch", "") == allowed


def test_declarations_are_united(tmp_path: Path):
    """A library that allows 1.13 and later, locked to 2.6 for its own tests, must run on both."""
    (tmp_path / "setup.py").write_text("setup(install_requires=['torch>=1.13'])", encoding="utf-8")
    (tmp_path / "requirements.txt").write_text("torch\n", encoding="utf-8")
    (tmp_path / "uv.lock").write_text(POETRY_LOCK.format("2.6.0"), encoding="utf-8")

    assert allowed_versions(FolderFiles(tmp_path)).get("torch", "") == ">=1.13"


def test_included_requirements_are_read_once(tmp_path: Path):
    """Files that include each other end; files outside the project are not looked at."""
    (tmp_path / "deps").mkdir()
    (tmp_path / "requirements.txt").write_text("-r deps/torch.txt\n-c ../outside.txt\n", encoding="utf-8")
    (tmp_path / "deps" / "torch.txt").write_text("-r ../requirements.txt\ntorch==2.0\n", encoding="utf-8")

    assert allowed_versions(FolderFiles(tmp_path)).get("torch", "") == "2.0"


def test_the_nearest_project_around_the_files_counts(tmp_path: Path):
    """A package of a monorepo has its own versions; where it names none, those of the folder around it hold."""
    for folder, text in (("one", "torch==2.1"), ("two", "numpy")):
        (tmp_path / folder / "src").mkdir(parents=True)
        (tmp_path / folder / "requirements.txt").write_text(text, encoding="utf-8")
    (tmp_path / "requirements.txt").write_text("torch==2.6", encoding="utf-8")

    versions = versions_of_tree(("one/src/a.py", "one/b.py", "two/src/a.py", "train.py"), tmp_path)
    assert [versions.of(path)["torch"] for path in ("one/src/a.py", "two/src/a.py", "train.py")] == [
        "2.1",
        "2.6",
        "2.6",
    ]
    assert versions.torch == ("2.1", "2.6")
    assert set(versions.by_folder) == {"", "one"}, "a folder that says nothing new is not listed"


@pytest.mark.parametrize(
    ("allowed", "reaches", "above"),
    [
        ("", True, True),
        ("2.1", False, False),
        ("2.4", True, True),
        ("2.13", True, True),
        (">=1.13", True, False),
        (">=2.4", True, True),
        ("<2.4", False, False),
        ("<=2.4", True, True),
        (">=2.3,<2.4", False, False),
        (">=2.3,<2.4.1", True, False),
    ],
)
def test_where_a_version_lies(allowed: str, reaches: bool, above: bool):
    """Of the range, some version may be 2.4 or later; or all of them are."""
    assert VersionRange.of(allowed).reaches("2.4") is reaches
    assert VersionRange.of(allowed).lies_above("2.4") is above
    assert str(VersionRange.of(allowed)) == allowed


@pytest.mark.parametrize(
    ("name", "text", "allowed"),
    [
        (
            "requirements.txt",
            "torch\naccelerate==0.34.2\ntransformers[torch]>=4.46,<5  # LLMs\npytorch_lightning~=1.9.0\n",
            {"accelerate": "0.34.2", "pytorch-lightning": ">=1.9,<1.10", "transformers": ">=4.46,<5.0"},
        ),
        ("requirements.txt", "lightning-utilities==0.11\naccelerated>=1\n", {}),
        ("pyproject.toml", '[project.optional-dependencies]\nlightning = ["lightning>=2.4"]', {"lightning": ">=2.4"}),
        ("pyproject.toml", '[tool.poetry.dependencies]\nLightning = "^2.1"', {"lightning": ">=2.1,<3.0"}),
        ("pyproject.toml", '[tool.accelerate]\nmixed_precision = "fp16"', {}),
        ("environment.yml", "dependencies:\n  - conda-forge::lightning=2.1\n", {"lightning": ">=2.1,<2.2"}),
        ("uv.lock", '[[package]]\nname = "deepspeed"\nversion = "0.16.1"\n', {"deepspeed": "0.16.1"}),
        ("setup.cfg", "[options]\ninstall_requires =\n    transformers<5\n", {"transformers": "<5.0"}),
    ],
)
def test_frameworks_are_pinned_in_the_same_ways(name: str, text: str, allowed: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / name).write_text(text, encoding="utf-8")

    assert allowed_versions(FolderFiles(tmp_path)) == allowed


def test_each_package_counts_from_the_nearest_folder_that_names_it(tmp_path: Path) -> None:
    (tmp_path / "one").mkdir()
    (tmp_path / "one" / "requirements.txt").write_text("lightning==2.1\n", encoding="utf-8")
    (tmp_path / "requirements.txt").write_text("lightning==2.4\ntorch==2.6\n", encoding="utf-8")

    assert versions_of_tree(("one/a.py",), tmp_path).of("one/a.py") == {"lightning": "2.1", "torch": "2.6"}


@pytest.mark.parametrize("repository", [True, False])
def test_what_lies_around_the_root_counts_within_its_repository(tmp_path: Path, repository: bool) -> None:
    """Who stands in a package is told the same of it as who stands above; nobody reads what lies above a repository."""
    (tmp_path / "above" / "package" / "deps").mkdir(parents=True)
    (tmp_path / "requirements.txt").write_text("torch==1.13\n", encoding="utf-8")
    (tmp_path / "above" / "requirements.txt").write_text("torch==2.6\n", encoding="utf-8")
    (tmp_path / "above" / "package" / "requirements.txt").write_text("-r ../base.txt\n", encoding="utf-8")
    (tmp_path / "above" / "base.txt").write_text("lightning==2.1\n", encoding="utf-8")
    if repository:
        (tmp_path / "above" / ".git").mkdir()

    root = tmp_path / "above" / "package"
    paths = ("deps/a.py", "../b.py", str(root / "c.py"))
    versions = versions_of_tree(paths, root)
    within = {"lightning": "2.1", "torch": "2.6"} if repository else {}
    assert versions.of("deps/a.py") == versions.of(str(root / "c.py")) == within
    assert versions.of("../b.py") == {"torch": "2.6"}
