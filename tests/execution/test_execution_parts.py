"""The small parts: where tests are, which addopts hold, what text becomes, and a stream cut short or forged."""

from __future__ import annotations

from hashlib import blake2b
from pathlib import Path

import pytest

from verifygate.execution.attribution import functions
from verifygate.execution.checks import stands_for
from verifygate.execution.collected_tests import PytestConfig, find_tests, read_config
from verifygate.execution.scrub import Scrubber
from verifygate.execution.stream import read_stream
from verifygate.sources.file import SourceFile


def _lay(root: Path, *files: str) -> None:
    for file in files:
        (root / file).parent.mkdir(parents=True, exist_ok=True)
        (root / file).touch()


@pytest.mark.parametrize(
    ("files", "testpaths", "found"),
    [
        (["tests/test_a.py", "pkg/test_b.py"], (), ("tests",)),
        (["test/a_test.py"], (), ("test",)),
        (["tests/data.py", "pkg/deep/test_b.py", "pkg/deep/er/test_c.py"], (), ("pkg/deep",)),
        (["test_a.py", "pkg/test_b.py"], (), (".",)),
        (["tests/test_a.py", "checks/unit/x.py", "checks/slow/x.py"], ("checks/*",), ("checks/slow", "checks/unit")),
        (["tests/test_a.py"], ("gone",), ("tests",)),
        (["train.py", ".venv/lib/test_x.py", "build/lib/test_y.py"], (), ()),
    ],
)
def test_tests_are_found(tmp_path: Path, files: list[str], testpaths: tuple[str, ...], found: tuple[str, ...]) -> None:
    """testpaths first, then tests/ or test/, then the folders that hold test files; environments are left out."""
    _lay(tmp_path, *files)
    assert find_tests(tmp_path, PytestConfig(testpaths)) == found


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("pytest.ini", "[pytest]\ntestpaths = a b\naddopts = -q\n"),
        ("tox.ini", "[pytest]\ntestpaths = a\n  b\naddopts = -q\n"),
        ("setup.cfg", "[tool:pytest]\ntestpaths = a b\naddopts = -q\n"),
        ("pyproject.toml", '[tool.pytest.ini_options]\ntestpaths = ["a", "b"]\naddopts = "-q"\n'),
        ("pyproject.toml", '[tool.pytest]\ntestpaths = ["a", "b"]\naddopts = ["-q"]\n'),
        ("pytest.toml", '[pytest]\ntestpaths = ["a", "b"]\naddopts = ["-q"]\n'),
    ],
)
def test_every_kind_of_configuration_is_read(tmp_path: Path, name: str, text: str) -> None:
    """Whatever file configures pytest, the gate reads the same two settings from it."""
    (tmp_path / name).write_text(text)
    assert read_config(tmp_path) == PytestConfig(("a", "b"), ("-q",), file=name)


def test_a_broken_configuration_is_left_to_pytest(tmp_path: Path) -> None:
    """pytest itself will complain, with its own words."""
    (tmp_path / "pyproject.toml").write_text("[tool.pytest\n")
    (tmp_path / "tox.ini").write_text("nonsense\n")
    assert read_config(tmp_path) == PytestConfig()


@pytest.mark.parametrize(
    ("addopts", "kept"),
    [
        (("-k", "fine", "--co", "-x", "--maxfail=1", "-W", "ignore", "--lf"), ()),
        (("--import-mode", "importlib", "-q"), ("--import-mode", "importlib")),
        (("--import-mode=importlib", "--strict-markers"), ("--import-mode=importlib", "--strict-markers")),
        (("-p", "no:warnings", "-p", "house", "-pother"), ("-p", "house", "-pother")),
    ],
)
def test_only_options_that_select_nothing_are_kept(addopts: tuple[str, ...], kept: tuple[str, ...]) -> None:
    """What could hide a test, a failure or a warning is put aside."""
    assert PytestConfig(addopts=addopts).kept == kept


@pytest.mark.parametrize(
    ("name", "test", "answer"),
    [
        ("tests/test_a.py::test_x", "tests/test_a.py::test_x", True),
        ("tests/test_a.py::test_x", "tests/test_a.py::test_x[fp16]", True),
        ("tests/test_a.py::test_x", "tests/test_a.py::test_xy", False),
        ("tests/test_a.py", "tests/test_a.py::test_x", True),
        ("tests", "tests/test_a.py::test_x", True),
        ("tests/", "tests/test_a.py::test_x", True),
        ("test", "tests/test_a.py::test_x", False),
    ],
)
def test_a_required_name_ends_where_a_part_ends(name: str, test: str, answer: bool) -> None:
    """A removed test cannot hide behind another one whose name begins alike."""
    assert stands_for(name, test) is answer


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("{root}/train.py:3", "train.py:3"),
        ("in {root}", "in ."),
        ("{root}-old/x", ".../x"),
        ("{private}/tmp/x", "<temp>/tmp/x"),
        ("/usr/lib/python3.11/json/decoder.py", "python/json/decoder.py"),
        ("'/opt/v/lib/python3.11/site-packages/torch/amp.py'", "'site-packages/torch/amp.py'"),
        ("see https://pytorch.org/docs/stable and/or 1/2", "see https://pytorch.org/docs/stable and/or 1/2"),
        ("no file /data/mnist/train.bin", "no file .../train.bin"),
        ("<Net object at 0x7f3a1c2b9d90>", "<Net object at 0x...>"),
        ("dtype 0x1f stays", "dtype 0x1f stays"),
        ("a\nb\t\x1b[31mred\u202e", "a b [31mred"),
        ("lone \ud800 surrogate", "lone surrogate"),
    ],
)
def test_text_is_fit_for_a_report(tmp_path: Path, text: str, shown: str) -> None:
    """No path of this machine, no address and no control code is left; ordinary words are."""
    root, private = tmp_path / "project", tmp_path / "private"
    assert Scrubber(root, private).text(text.format(root=root, private=private)) == shown


def test_long_ids_stay_apart(tmp_path: Path) -> None:
    """Two ids that differ after the limit differ in the report."""
    scrubber = Scrubber(tmp_path, tmp_path / "private")
    first, second = (scrubber.identity("x" * 5000 + end) for end in "ab")
    assert first != second
    assert len(first) <= 300


def test_files_of_an_environment_are_not_the_projects(tmp_path: Path) -> None:
    """A frame in site-packages below the root is not the place to look at."""
    _lay(tmp_path, ".venv/lib/python3.11/site-packages/torch/x.py", "train.py")
    scrubber = Scrubber(tmp_path, tmp_path / "private")
    assert scrubber.inside(str(tmp_path / ".venv/lib/python3.11/site-packages/torch/x.py")) is None
    assert scrubber.inside(str(tmp_path / "train.py")) == "train.py"
    assert scrubber.inside("<frozen importlib._bootstrap>") is None


def test_a_stream_is_read_as_far_as_it_goes(tmp_path: Path) -> None:
    """A line cut short by a dying process is left out; a whole line of another hand is counted."""
    stream = tmp_path / "stream"
    true = _told(b'{"event": "loaded"}\n', b'{"event": "start", "id": "a"}\n', b'{"event": "start", "id": "b"}\n')
    stream.write_bytes(b"".join([*true[:2], b'other {"event": "finish"}\n', true[2], b'0 {"event": "f']))
    record = read_stream(stream, KEY)
    assert (record.loaded, record.started, record.status, record.forged) == (True, ["a", "b"], None, 1)


@pytest.mark.parametrize("change", ["repeated", "taken out", "changed", "of another key"])
def test_a_line_that_another_hand_changed_shows(tmp_path: Path, change: str) -> None:
    """The digest of a line is that of all lines before it, too."""
    lines = [b'{"event": "loaded"}\n', b'{"event": "start", "id": "a"}\n', b'{"event": "start", "id": "b"}\n']
    first, second, third = _told(*lines, key="cd" if change == "of another key" else KEY)
    changed = {
        "repeated": [first, second, second],
        "taken out": [first, third],
        "changed": [first, second.replace(b'"a"', b'"c"'), third],
        "of another key": [first, second, third],
    }
    (tmp_path / "stream").write_bytes(b"".join(changed[change]))
    assert read_stream(tmp_path / "stream", KEY).forged


@pytest.mark.parametrize("line", [b'{"event": "unheard"}', b"nonsense", b'{"event": "start"}', b"[]", b"\xff"])
def test_lines_that_the_plugin_cannot_have_written_are_counted(tmp_path: Path, line: bytes) -> None:
    """Nothing in the stream is able to stop the gate, not even with a true digest."""
    (tmp_path / "stream").write_bytes(b"".join(_told(line + b"\n")))
    assert read_stream(tmp_path / "stream", KEY).forged == 1


KEY = "ab"


def _told(*lines: bytes, key: str = KEY) -> list[bytes]:
    """The lines as the plugin writes them."""
    running, told = blake2b(key=bytes.fromhex(key), digest_size=16), []
    for line in lines:
        running.update(line)
        told.append(running.hexdigest().encode() + b" " + line)
    return told


def test_a_stream_that_never_was(tmp_path: Path) -> None:
    """A process that died before the plugin was loaded leaves an empty record."""
    assert read_stream(tmp_path / "stream", KEY).loaded is False


def test_functions_have_bodies_below_their_signatures() -> None:
    """Decorators, defaults and signatures run at import; a nested function's body is its own."""
    outer_text = "@wrap\ndef outer(\n    a=1,\n    b=2,\n):\n    def inner():\n        return a\n\n    return inner\n"
    text = f"{outer_text}\n\ndef no(): return 1\n"
    outer, inner = functions(SourceFile("amp.py", text.encode()))
    assert (outer.symbol, outer.line, outer.end_line, 4 in outer.body, 7 in outer.body) == ("outer", 2, 9, False, False)
    assert {6, 9} <= outer.body
    assert (inner.symbol, inner.body) == ("outer.inner", frozenset({7}))


@pytest.mark.parametrize("data", [b"def f(:\n", b"\xff\xfe\x00", b"(" * 3000])
def test_a_file_that_does_not_parse_has_no_functions(data: bytes) -> None:
    """The static stage reports it; here it only must not raise."""
    assert functions(SourceFile("broken.py", data)) == []
