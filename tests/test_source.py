"""Finding and reading sources: what is taken, what is left, and what is refused."""

from __future__ import annotations

import io
import os
import tokenize
from pathlib import Path

import pytest

from verifygate.base.errors import UsageError
from verifygate.cli import main
from verifygate.configured_precision.read import ConfiguredPrecision
from verifygate.sources.discovery import read_sources
from verifygate.sources.file import SourceFile
from verifygate.sources.linked_files import one_of_each


def write(root: Path, *names: str) -> None:
    for name in names:
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("x = 1\n", encoding="utf-8")


def paths(root: Path, *given: str, exclude: tuple[str, ...] = ()) -> list[str]:
    return [file.path for file in read_sources(root, given or (".",), exclude)]


def test_only_the_projects_own_python_is_read(tmp_path: Path):
    """Hidden folders, environments and build outputs hold no project code; other files are no Python."""
    write(tmp_path, "train.py", "pkg/model.py", "notes.txt", ".hidden/a.py", "build/lib/b.py", "env/c.py")
    write(tmp_path, "mine/lib/e.py")
    (tmp_path / "mine" / "pyvenv.cfg").write_text("home = /usr/bin\n", encoding="utf-8")
    assert paths(tmp_path) == ["env/c.py", "pkg/model.py", "train.py"]


def test_a_file_named_outright_is_read_wherever_it_lies(tmp_path: Path):
    """What somebody names is meant, and is read once however often it is named."""
    write(tmp_path, "build/b.py")
    assert paths(tmp_path, "build/b.py", "build", "./build/b.py") == ["build/b.py"]


def test_excluded_paths_are_left_out(tmp_path: Path):
    """Patterns are matched against the path below the root."""
    write(tmp_path, "train.py", "legacy/old.py", "legacy/deep/older.py")
    assert paths(tmp_path, exclude=("legacy/*",)) == ["train.py"]


def test_links_that_circle_come_to_an_end(tmp_path: Path):
    """Links to folders are not followed."""
    write(tmp_path, "pkg/a.py")
    (tmp_path / "pkg" / "again").symlink_to(tmp_path, target_is_directory=True)
    assert paths(tmp_path) == ["pkg/a.py"]


def test_a_name_that_is_no_text_is_told_and_costs_nothing_else(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    """Names may be any bytes; reports hold text. The file counts as not analysed, the others are read."""
    write(tmp_path, "train.py")
    try:
        (tmp_path / os.fsdecode(b"b\xff.py")).write_text("scaler.unscale_(optimizer)\n", encoding="utf-8")
    except OSError:
        pytest.skip("this file system takes no such name")
    assert paths(tmp_path) == ["train.py"]

    assert main(["check", str(tmp_path)]) == 2
    told = capsys.readouterr()
    assert told.out == "No findings in 1 file; 1 file not analysed.\n"
    assert "b\\udcff.py: its name is no text in this locale: rename it" in told.err


def test_path_that_leaves_the_root_is_refused(tmp_path: Path):
    """By `..` or by a link: what the gate reports on must be part of what it reads."""
    write(tmp_path, "outside.py", "root/inside.py")
    (tmp_path / "root" / "link").symlink_to(tmp_path, target_is_directory=True)
    for given in ("../outside.py", "link", str(tmp_path / "outside.py")):
        with pytest.raises(UsageError, match="outside the project's root"):
            read_sources(tmp_path / "root", [given])


def test_special_files_are_no_sources(tmp_path: Path):
    """Links to nothing, to themselves and through a file are passed over; a pipe that would never answer is told."""
    import os

    write(tmp_path, "a.py")
    os.mkfifo(tmp_path / "pipe.py")
    for name, target in {"gone": "nowhere.py", "itself": "itself.py", "through": "a.py/b.py", "linked": "a.py"}.items():
        (tmp_path / f"{name}.py").symlink_to(tmp_path / target)
    read = read_sources(tmp_path, ["."])
    assert [file.path for file in read] == ["a.py", "linked.py"]
    assert read.unreadable == (("pipe.py", "cannot be read: it is a named pipe, not a regular file"),)


def linked(root: Path) -> Path:
    """A repository whose second program uses the model of the first by a link."""
    (root / ".git").mkdir()
    (root / "one").mkdir()
    (root / "two").mkdir()
    (root / "one" / "model.py").write_text(
        "import torch\nfrom torch.nn.functional import binary_cross_entropy\n\n"
        "def loss(x, y):\n    return binary_cross_entropy(torch.sigmoid(x), y)\n\n\n"
        "scaler = torch.cuda.amp.GradScaler()\n"
    )
    (root / "two" / "train.py").write_text(
        "import torch\nfrom model import loss\n\n\ndef train(net, batches):\n    for x, y in batches:\n"
        "        with torch.autocast('cuda'):\n            print(loss(net(x), y))\n"
    )
    (root / "two" / "model.py").symlink_to(root / "one" / "model.py")
    return root


def test_a_link_to_a_checked_file_is_that_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    """Findings stand where the bytes lie, once; what imports the link imports the file.

    A link to a file that is not checked stands for it.
    """
    root = linked(tmp_path)
    assert main(["check", "--no-cache", "--select", "AMP404,AMP501", str(root)]) == 1
    told = capsys.readouterr().out
    assert "one/model.py:5" in told
    assert "two/train.py:7" in told
    assert "two/model.py" not in told
    assert told.count("AMP501") == 1
    assert "in 3 files" in told

    assert main(["check", "--no-cache", "--select", "AMP501", str(root / "two")]) == 1
    assert "model.py:8" in capsys.readouterr().out


def test_who_asks_for_a_link_is_told_of_its_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    """A hook before a commit names files: a link that is named is no file without findings."""
    root = linked(tmp_path)
    (root / "pyproject.toml").write_text("")
    monkeypatch.chdir(root)
    assert main(["check", "--no-cache", "--select", "AMP501", "two/model.py"]) == 1
    told = capsys.readouterr().out
    assert "one/model.py:8" in told
    assert "in 1 file" in told


@pytest.mark.parametrize(
    ("beside_the_link", "links"),
    [
        ({}, ["b/model.py", "b/parts.py"]),
        ({"parts.py": "def width(model): return 2\n"}, []),
        ({"extra.py": ""}, ["b/model.py", "b/parts.py"]),
    ],
    ids=["links in a circle", "another module beside the link", "a module that neither imports"],
)
def test_a_link_is_its_file_where_imports_mean_the_same(
    tmp_path: Path, beside_the_link: dict[str, str], links: list[str]
):
    """`import parts` beside the link may be another module than beside the file: then the text is two programs."""
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
    (tmp_path / "a/model.py").write_text("import torch\nimport parts\n")
    (tmp_path / "a/parts.py").write_text("from model import torch\ndef width(model): return 1\n")
    for name in ("model.py", "parts.py"):
        (tmp_path / "b" / name).symlink_to(f"../a/{name}")
    for name, text in beside_the_link.items():
        (tmp_path / "b" / name).unlink(missing_ok=True)
        (tmp_path / "b" / name).write_text(text)
    sources = read_sources(tmp_path, ["."])
    once = one_of_each(sources)
    assert [link.path for link in once.links] == links
    assert len(once) + len(links) == len(sources)


@pytest.mark.parametrize("text", ["import importlib\nimportlib.import_module('parts')\n", "__import__('parts')\n"])
def test_a_link_that_loads_by_name_is_a_file_of_its_own(tmp_path: Path, text: str):
    """What it loads may be another module beside the link."""
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    (tmp_path / "a/model.py").write_text(text)
    (tmp_path / "b/model.py").symlink_to("../a/model.py")
    assert not one_of_each(read_sources(tmp_path, ["."])).links


@pytest.mark.parametrize(
    ("text", "beside", "links"),
    [
        ("open('ds.json')", "b/ds.json", []),
        ("open('ds.json')", "a/ds.json", ["b/train.py"]),
        ("import hydra", "b/conf/main.yaml", []),
        ("print(x.shape)", "b/run.sh", ["b/train.py"]),
    ],
    ids=["another beside the link", "one beside the file", "a folder of them", "a script"],
)
def test_a_link_beside_a_configuration_is_a_file_of_its_own(tmp_path: Path, text: str, beside: str, links: list[str]):
    """The name that it opens is another file there."""
    (tmp_path / "a").mkdir()
    (tmp_path / "b/conf").mkdir(parents=True)
    (tmp_path / "a/train.py").write_text(text)
    (tmp_path / "b/train.py").symlink_to("../a/train.py")
    (tmp_path / beside).write_text("{}")
    assert [link.path for link in one_of_each(read_sources(tmp_path, ["."])).links] == links


def test_a_command_that_starts_a_link_starts_its_file(tmp_path: Path):
    """What a script gives it is told of the file that is analysed."""
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    (tmp_path / "a/train.py").write_text("import torch\n")
    (tmp_path / "b/train.py").symlink_to("../a/train.py")
    write(tmp_path, "c/train.py")
    (tmp_path / "b/run.sh").write_text("accelerate launch train.py --mixed_precision fp16\n")
    once = one_of_each(read_sources(tmp_path, ["."]))
    assert once.links
    assert [each.programs for each in ConfiguredPrecision(once).settings] == [("a/train.py",)]


def test_the_digest_is_of_paths_and_bytes(tmp_path: Path):
    """The same tree has the same digest; a renamed file or a changed byte has another."""
    write(tmp_path, "a.py", "b.py")
    first = read_sources(tmp_path, ["."]).digest
    assert read_sources(tmp_path, ["b.py", "a.py"]).digest == first
    (tmp_path / "b.py").rename(tmp_path / "c.py")
    assert read_sources(tmp_path, ["."]).digest != first


@pytest.mark.parametrize(
    ("text", "mentions"),
    [
        ("from torch.amp import autocast", True),
        ("Trainer(precision=16)", True),
        ("x = 1", False),
        ("example = 1", False),
    ],
)
@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_amp_is_recognised_in_any_bytes(text: str, mentions: bool, encoding: str):
    """Also in a file that cannot be decoded: it must not pass for one without AMP."""
    assert SourceFile("a.py", text.encode(encoding)).mentions_amp is mentions


@pytest.mark.parametrize(
    "head",
    [b"", b"# coding: utf-8", b"# coding: latin-1", b"# coding: latin-1, not coding: utf-8", b"\n\xef\xbb\xbf"],
)
def test_text_is_what_python_reads(head: bytes):
    """The first declaration counts, and plain bytes are read without looking for one."""
    data = head + b"\nx = '\xc3\xa9'\n"
    encoding, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
    assert SourceFile("a.py", data).text == data.decode(encoding)


@pytest.mark.parametrize(
    ("statement", "read"),
    [
        (b"from .import b", (b".", b"b")),
        (b"from ..import(b)", (b"..", b"(b)")),
        (b"from a.import_b import c", (b"a.import_b", b"c")),
        (b"from a import*", (b"a", b"*")),
        (b"import a", (None, b"a")),
    ],
)
def test_imports_are_read_in_any_spacing(statement: bytes, read: tuple[bytes | None, bytes]):
    assert SourceFile("a.py", statement).imports == (read,)


def test_a_word_that_begins_like_import_is_none():
    assert SourceFile("a.py", b"import_all(models)").imports == ()


@pytest.mark.parametrize(
    "data",
    [
        "größe = 1\n".encode(),
        b"size = 1\r\nother = 2\r\n",
        b"size = 1\rother = 2",
        "# coding: latin-1\ngröße = 1\n".encode("latin-1"),
        "\ufeffgröße = 1\r\n".encode(),
    ],
    ids=["utf-8", "crlf", "cr", "latin-1", "bom"],
)
def test_a_text_is_written_as_the_file_is(data: bytes):
    """What edits a file decodes it, and must give back its encoding, its line ends and its byte order mark."""
    file = SourceFile("train.py", data)
    assert file.encoded(file.text) == data
