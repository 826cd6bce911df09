"""The one reader: what it refuses, each with one reason, at once and without taking memory."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from threading import Thread

import pytest
from special_files import device, huge, listening, pipe

from verifygate.base.regular_files import MIB, copy_or_link, open_regular, read_argument, read_regular


def link_out(path: Path) -> None:
    outside = path.parent.parent / "outside.txt"
    outside.write_text("secret\n", encoding="utf-8")
    path.symlink_to(outside)


SPECIAL: dict[str, tuple[Callable[[Path], object], str]] = {
    "pipe": (pipe, "it is a named pipe, not a regular file"),
    "device": (device, "it is a device, not a regular file"),
    "socket": (listening, "it is a socket, not a regular file"),
    "huge": (huge, "it is larger than 1 MiB"),
    "folder": (Path.mkdir, "Is a directory"),
    "link-out": (link_out, "it is a link that leads out of the tree"),
}


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    (tmp_path / "tree").mkdir()
    return tmp_path / "tree"


@pytest.mark.parametrize("kind", SPECIAL)
def test_what_is_no_file_of_the_tree_is_refused(tree: Path, kind: str) -> None:
    make, why = SPECIAL[kind]
    make(tree / "x.yaml")
    with pytest.raises(OSError) as refused:  # noqa: PT011 - its words are compared
        read_regular(tree / "x.yaml", MIB, tree=tree)
    assert refused.value.strerror == why


def test_links_are_followed_within_the_repository(tree: Path) -> None:
    """Whichever of its folders the gate was pointed at; and the tree may itself be reached by a link."""
    (tree.parent / ".git").mkdir()
    (tree.parent / "shared.txt").write_bytes(b"shared")
    (tree / "link.txt").symlink_to("../shared.txt")
    (tree.parent / "again").symlink_to(tree)
    assert read_regular(tree / "link.txt", MIB, tree=tree) == b"shared"
    assert read_regular(tree.parent / "again/link.txt", MIB, tree=tree.parent / "again") == b"shared"


def test_a_folder_that_is_a_link_leads_out_as_well(tree: Path) -> None:
    link_out(tree / "x.txt")
    (tree / "folder").symlink_to(tree.parent)
    with pytest.raises(OSError, match="leads out of the tree"):
        read_regular(tree / "folder/outside.txt", MIB, tree=tree)


def test_where_the_system_does_not_tell_of_descriptors(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The place is asked of the path then, and has to be that of the open file."""

    def unknown(_: str) -> str:
        raise OSError

    monkeypatch.setattr(os, "readlink", unknown)
    (tree / "a.txt").write_bytes(b"a")
    assert read_regular(tree / "a.txt", MIB, tree=tree) == b"a"
    (tree.parent / "b.txt").write_bytes(b"b")
    with pytest.raises(OSError, match="leads out of the tree"):
        read_regular(tree / "../b.txt", MIB, tree=tree)


@pytest.mark.parametrize(("size", "fits"), [(0, True), (MIB, True), (MIB + 1, False)])
def test_the_limit_is_the_last_size_that_is_read(tree: Path, size: int, *, fits: bool) -> None:
    (tree / "a").write_bytes(b"x" * size)
    if fits:
        assert len(read_regular(tree / "a", MIB)) == size
    else:
        with pytest.raises(OSError, match="larger than 1 MiB"):
            read_regular(tree / "a", MIB)


def test_what_the_user_names_may_be_a_pipe(tree: Path) -> None:
    """As in `verifygate compare old.json <(ssh host cat report.json)`; it has the same limit."""
    for data, fits in ((b"x" * MIB, True), (b"x" * (2 * MIB), False)):
        reading, writing = os.pipe()
        writer = Thread(target=pour, args=(writing, data))
        writer.start()
        try:
            if fits:
                assert read_argument(f"/dev/fd/{reading}", MIB) == data
            else:
                with pytest.raises(OSError, match="larger than 1 MiB"):
                    read_argument(f"/dev/fd/{reading}", MIB)
        finally:
            os.close(reading)
            writer.join()
    device(tree / "zero")
    with pytest.raises(OSError, match="it is a device"):
        read_argument(tree / "zero", MIB)


def pour(handle: int, data: bytes) -> None:
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
    except BrokenPipeError:
        return  # nobody reads the rest


def test_a_copy_of_what_is_no_file_is_a_link(tree: Path) -> None:
    pipe(tree / "pipe.py")
    (tree / "a.py").write_bytes(b"a = 1\n")
    copy_or_link(tree / "pipe.py", tree / "there.py")
    assert (tree / "there.py").is_symlink()
    copy_or_link(tree / "a.py", tree / "there.py")
    assert not (tree / "there.py").is_symlink()
    assert (tree / "there.py").read_bytes() == b"a = 1\n"


def test_no_descriptor_stays_open(tree: Path) -> None:
    before = len(os.listdir("/proc/self/fd"))  # noqa: PTH208
    for make, _ in SPECIAL.values():
        make(tree / "x")
        with pytest.raises(OSError):  # noqa: PT011 - any
            read_regular(tree / "x", MIB, tree=tree)
        (tree / "x").rmdir() if (tree / "x").is_dir() else (tree / "x").unlink()
    (tree / "a").write_bytes(b"a")
    open_regular(tree / "a").close()
    assert len(os.listdir("/proc/self/fd")) == before  # noqa: PTH208
