"""The packages of the primer are downloaded by digest, unpacked without leaving their folder, and never run."""

from __future__ import annotations

import hashlib
import io
import tarfile
import zipfile
from pathlib import Path

import pytest

from primer.archives import unpack
from primer.cache import Cache, default_folder
from primer.index import pinned
from primer.pins import Pin, read_pins
from verifygate.base.errors import UsageError

RUNS = "from pathlib import Path\nPath({marker!r}).touch()\nraise SystemExit('setup was run')\n"


def packed(folder: Path, name: str, files: dict[str, str]) -> Path:
    """A source distribution with these files in one outer folder."""
    archive = folder / name
    with tarfile.open(archive, "w:gz") as out:
        for path, text in files.items():
            entry = tarfile.TarInfo(path)
            entry.size = len(text.encode())
            out.addfile(entry, io.BytesIO(text.encode()))
    return archive


def pin_of(archive: Path, name: str = "tiny", version: str = "1.0") -> Pin:
    return Pin(name, version, hashlib.sha256(archive.read_bytes()).hexdigest(), archive.name)


@pytest.fixture
def shelf(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that pip is configured to find archives in, and nothing else."""
    folder = tmp_path / "shelf"
    folder.mkdir()
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    return folder


def test_a_download_runs_nothing_of_the_package(shelf: Path, tmp_path: Path):
    marker = tmp_path / "setup-was-run"
    archive = packed(
        shelf,
        "tiny-1.0.tar.gz",
        {"tiny-1.0/setup.py": RUNS.format(marker=str(marker)), "tiny-1.0/tiny/train.py": "a = 1\n"},
    )

    tree = Cache(tmp_path / "cache").tree(pin_of(archive))

    assert (tree / "tiny" / "train.py").read_text(encoding="utf-8") == "a = 1\n"
    assert (tree / "setup.py").is_file()
    assert not marker.exists()


def test_what_is_in_the_cache_is_not_downloaded_again(shelf: Path, tmp_path: Path):
    archive = packed(shelf, "tiny-1.0.tar.gz", {"tiny-1.0/a.py": ""})
    pin = pin_of(archive)
    first = Cache(tmp_path / "cache").tree(pin)
    archive.unlink()

    assert Cache(tmp_path / "cache").tree(pin) == first


def test_another_digest_is_refused_and_leaves_no_file(shelf: Path, tmp_path: Path):
    archive = packed(shelf, "tiny-1.0.tar.gz", {"tiny-1.0/a.py": ""})
    pin = Pin("tiny", "1.0", "0" * 64, archive.name)

    with pytest.raises(UsageError, match=r"tiny-1.0.tar.gz: its sha256 is"):
        Cache(tmp_path / "cache").tree(pin)
    assert not [each for each in (tmp_path / "cache").rglob("*") if each.is_file()]


def test_an_archive_that_changed_in_the_cache_is_refused(shelf: Path, tmp_path: Path):
    archive = packed(shelf, "tiny-1.0.tar.gz", {"tiny-1.0/a.py": ""})
    kept = tmp_path / "cache" / "archives" / archive.name
    kept.parent.mkdir(parents=True)
    kept.write_bytes(archive.read_bytes() + b"more")

    with pytest.raises(UsageError, match="sha256"):
        Cache(tmp_path / "cache").tree(pin_of(archive))


def test_a_version_that_the_index_lacks_is_said(shelf: Path, tmp_path: Path):
    with pytest.raises(UsageError, match=r"gone-1.0.tar.gz: the package index has no such file"):
        Cache(tmp_path / "cache").tree(Pin("gone", "1.0", "0" * 64, "gone-1.0.tar.gz"))


def test_a_source_distribution_is_pinned_rather_than_a_wheel(shelf: Path):
    archive = packed(shelf, "tiny-1.0.tar.gz", {"tiny-1.0/a.py": ""})
    with zipfile.ZipFile(shelf / "tiny-1.0-py3-none-any.whl", "w") as wheel:
        wheel.writestr("tiny/a.py", "")

    assert pinned("tiny", "1.0") == pin_of(archive)


@pytest.mark.parametrize("path", ["../escaped.py", "tiny-1.0/../../escaped.py"])
def test_a_path_out_of_the_folder_is_refused(tmp_path: Path, path: str):
    archive = packed(tmp_path, "tiny-1.0.tar.gz", {"tiny-1.0/a.py": "", path: ""})

    with pytest.raises(UsageError, match="cannot be unpacked"):
        unpack(archive, tmp_path / "deep" / "deeper" / "tree")
    assert not list(tmp_path.rglob("escaped.py"))


def test_only_what_the_analysis_reads_is_unpacked(tmp_path: Path):
    archive = packed(
        tmp_path, "tiny-1.0.tar.gz", {"t/a.py": "", "t/weights.bin": "x", "t/pyproject.toml": "", "t/README.md": ""}
    )

    unpack(archive, tmp_path / "tree")

    assert sorted(each.name for each in (tmp_path / "tree").rglob("*")) == ["a.py", "pyproject.toml"]


def test_a_wheel_is_unpacked_with_its_package_folder(tmp_path: Path):
    with zipfile.ZipFile(tmp_path / "tiny-1.0-py3-none-any.whl", "w") as wheel:
        wheel.writestr("tiny/a.py", "")
        wheel.writestr("../escaped.py", "")

    unpack(tmp_path / "tiny-1.0-py3-none-any.whl", tmp_path / "tree")

    assert [each.relative_to(tmp_path / "tree").as_posix() for each in (tmp_path / "tree").rglob("*.py")] == [
        "tiny/a.py"
    ]


def test_the_list_that_comes_with_the_gate_is_sorted_and_names_each_package_once():
    pins = read_pins()
    names = [pin.name for pin in pins]

    assert len(pins) >= 60
    assert names == sorted(set(names))


@pytest.mark.parametrize(
    "row", ["timm", "timm==1.0", "timm==1.0 sha256:12 timm-1.0.tar.gz", "timm==1.0 sha256:" + "0" * 64]
)
def test_a_row_without_a_digest_or_file_is_refused(tmp_path: Path, row: str):
    path = tmp_path / "packages.txt"
    path.write_text(f"# packages\n{row}\n", encoding="utf-8")

    with pytest.raises(UsageError, match=r"packages.txt:2: not a pinned package"):
        read_pins(path)


def test_the_cache_is_outside_the_checkout(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert default_folder() == tmp_path / "verifygate" / "primer"

    monkeypatch.setenv("XDG_CACHE_HOME", "relative")  # the specification: it is to be ignored
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    assert default_folder() == tmp_path / "home" / ".cache" / "verifygate" / "primer"
