"""A hermetic process reads nothing but what `visible` knows, and writes no kept result."""

from __future__ import annotations

import mmap
import os
import py_compile
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from verifygate.base import answer_store
from verifygate.process import visible as visible_module
from verifygate.process.isolation import (
    LAYERS,
    SYSTEM,
    Isolation,
    Reach,
    can_be_hermetic,
    granted,
    in_words,
    shown_places,
)
from verifygate.process.subject import Subject
from verifygate.process.trusted import changed
from verifygate.process.visible import visible

GRANTED = granted(Isolation.HERMETIC, Reach(Path(__file__).resolve().parents[2])) if can_be_hermetic() else ()
pytestmark = pytest.mark.skipif(set(LAYERS) > set(GRANTED), reason="this machine does not grant every layer")

LISTING = """
import os
for folder, below, files in os.walk("/"):
    skipped = {skipped}
    below[:] = [name for name in below if os.path.join(folder, name) not in skipped]
    for name in files:
        print(os.path.join(folder, name))
"""


@pytest.fixture
def subject(tmp_path: Path) -> Subject:
    project = tmp_path / "project"
    (project / "data").mkdir(parents=True)
    (project / ".git").mkdir()
    (project / ".git/config").write_text("")
    (project / ".git/HEAD").write_text("ref: refs/heads/main\n")
    (project / ".mypy_cache").mkdir()
    (project / ".mypy_cache/cache").write_text("")
    (project / ".env").write_text("A=1\n")
    (project / "train.py").write_text("x = 1\n")
    (project / "data/rows.csv").write_text("1,2\n")
    reports = project / "reports/latest"
    reports.mkdir(parents=True)
    (reports / "report.json").write_text("{}")
    (tmp_path / "beside.txt").write_text("of somebody else\n")
    guarded = (reports.parent, reports)
    return Subject(project, Path(sys.executable), isolation=Isolation.HERMETIC, guarded=guarded)


def test_all_that_it_can_read_is_known(subject: Subject) -> None:
    kernel = ["/dev", "/proc", "/sys", "/run"]
    known = [*(f"/{name}" for name in SYSTEM), *map(str, shown_places(subject.reach()))]
    skipped = set(kernel) | {os.path.realpath(each) for each in known} | set(known)
    ended = subject.run(["-c", LISTING.format(skipped=repr(skipped))], seconds=120)
    assert ended.exit_code == 0
    told = visible(subject)
    found = {Path(line) for line in ended.stdout_tail.splitlines()}
    tree = {subject.root / name for name in told.tree}
    assert subject.root / "data/rows.csv" in found & tree
    unknown = {path for path in found - tree if path.parent != Path("/") and path.name != ".env"}
    assert unknown == set()
    assert not any("beside" in path.name or path.name in ("report.json", "config", "cache") for path in found | tree)


def test_it_has_no_network_and_writes_no_kept_result(subject: Subject) -> None:
    answer_store.keep("0" * 64, answer_store.CheckOutput(("true",), 0), answer_store.RUNS)
    place = Path(os.environ["VERIFYGATE_CACHE_DIR"]) / answer_store.RUNS
    script = f"""
import os, pathlib, socket
folder = pathlib.Path({str(place)!r})
try:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / ("1" * 64 + ".json")).write_text("forged")
except OSError as error:
    print(error)
try:
    socket.create_connection(("192.0.2.1", 80), 5)
except OSError as error:
    print("network:", error)
"""
    ended = subject.run(["-c", script], seconds=60)
    assert ended.exit_code == 0
    assert "network: [Errno" in ended.stdout_tail
    assert [each.name for each in place.iterdir()] == ["0" * 64 + ".json"]


@pytest.mark.parametrize("how", ["auto", "off"])
def test_what_another_process_writes_is_not_there_afterwards(subject: Subject, how: str) -> None:
    """One that is kept from the gate's files writes into a copy; after one that is not, nothing is kept."""
    answer_store.keep("0" * 64, answer_store.CheckOutput(("true",), 0), answer_store.RUNS)
    place = Path(os.environ["VERIFYGATE_CACHE_DIR"]) / answer_store.RUNS
    other = Subject(subject.root, subject.interpreter, isolation=how)
    forged = place / ("1" * 64 + ".json")
    other.run(["-c", f"open({str(forged)!r}, 'w').write('forged')"], seconds=60)
    left = [each.name for each in place.glob("*")]
    assert left == (["0" * 64 + ".json"] if how == "auto" else [])


def test_that_answers_go_is_no_change_of_the_gate(subject: Subject) -> None:
    answer_store.keep("0" * 64, answer_store.CheckOutput(("true",), 0), answer_store.RUNS)
    other = Subject(subject.root, subject.interpreter, isolation="off")
    before = other.trusted_state()
    other.run(["-c", ""], seconds=60)
    assert changed(before, other.trusted_state()) == []


HINDRANCES = {
    "folders among the answers": "[(place / str(n) / 'x').mkdir(parents=True) for n in range(9)]",
    "rights": "place.chmod(0o500)",
}


@pytest.mark.parametrize("hindrance", HINDRANCES)
def test_what_it_does_to_be_left_there_does_not_help(subject: Subject, hindrance: str) -> None:
    place = Path(os.environ["VERIFYGATE_CACHE_DIR"]) / answer_store.RUNS
    script = f"""
import pathlib
place = pathlib.Path({str(place)!r})
place.mkdir(parents=True, exist_ok=True)
(place / ("1" * 64 + ".json")).write_text("forged")
{HINDRANCES[hindrance]}
"""
    other = Subject(subject.root, subject.interpreter, isolation="off")
    assert other.run(["-c", script], seconds=60).exit_code == 0
    assert list(place.glob("*.json")) == []


def test_a_link_in_place_of_the_answers_goes_alone(subject: Subject, tmp_path: Path) -> None:
    place = Path(os.environ["VERIFYGATE_CACHE_DIR"]) / answer_store.RUNS
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine/letter").touch()
    place.parent.mkdir(parents=True, exist_ok=True)
    place.symlink_to(tmp_path / "mine")
    Subject(subject.root, subject.interpreter, isolation="off").run(["-c", ""], seconds=60)
    assert (tmp_path / "mine/letter").exists()
    assert not place.is_symlink()


def test_it_sees_what_is_installed_to_be_edited(tmp_path: Path) -> None:
    """As the path files of an environment say; and what it sees is known."""
    packages, edited = tmp_path / "env/lib/python3.11/site-packages", tmp_path / "edited"
    packages.mkdir(parents=True)
    edited.mkdir()
    (packages / "edited.pth").write_text(f"import os; os.getcwd()\n{edited}\n/nowhere\nrelative\n")
    shown = shown_places(Reach(tmp_path / "project", shown=(tmp_path / "env",)))
    assert {tmp_path / "env", edited} <= set(shown)
    assert Path("/nowhere") not in shown


def _few_places(monkeypatch: pytest.MonkeyPatch, shown: Path) -> None:
    monkeypatch.setattr(visible_module, "SYSTEM", ())
    monkeypatch.setattr(visible_module, "shown_places", lambda _reach: [shown])


CHANGES: dict[str, tuple[Callable[[Path], object], str]] = {
    "a line": (lambda top: (top / "project/train.py").write_text("x = 2\n"), "`train.py`"),
    "data": (lambda top: (top / "project/data/rows.csv").write_text("1,3\n"), "`data/rows.csv`"),
    "a new file": (lambda top: (top / "project/data/new.csv").touch(), "`data/new.csv`"),
    "an empty folder": (lambda top: (top / "project/empty").mkdir(), "`empty`"),
    "a link": (lambda top: (top / "project/link").symlink_to("train.py"), "`link`"),
    "a right": (lambda top: (top / "project/train.py").chmod(0o755), "`train.py`"),
    "bytecode": (lambda top: (top / "project/data/x.pyc").write_bytes(b"1"), "`data/x.pyc`"),
    "a package": (lambda top: (top / "packages/one/METADATA").write_text("Version: 2\n"), "packages`"),
    "a package without a file": (lambda top: (top / "packages/two").mkdir(), "packages`"),
    "rights of a package": (lambda top: (top / "packages/one").chmod(0o700), "packages`"),
    "data beside bytecode": (lambda top: (top / "packages/one/__pycache__/index.nbi").touch(), "packages`"),
    "a large file": (lambda top: _rewritten(top / "project/data/large"), "`data/large`"),
}


def _rewritten(path: Path) -> None:
    """Other bytes, of the same size and with the same time of modification."""
    status = path.stat()
    path.write_bytes(b"1" * status.st_size)
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))


@pytest.mark.parametrize("change", CHANGES)
def test_a_change_of_what_is_read_is_another_digest(
    subject: Subject, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: str
) -> None:
    (tmp_path / "packages/one/__pycache__").mkdir(parents=True)
    (tmp_path / "packages/one/METADATA").write_text("Version: 1\n")
    _few_places(monkeypatch, tmp_path / "packages")
    if change == "a large file":
        (subject.root / "data/large").write_bytes(b"0" * (1 << 20) + b"0")
    before, again = visible(subject), visible(subject)
    assert before.digest() == again.digest()
    act, named = CHANGES[change]
    act(tmp_path)
    after = visible(subject)
    assert after.digest() != before.digest()
    assert named in before.differs_from(after)


def test_what_it_inherits_counts_and_what_it_does_not_see_does_not(
    subject: Subject, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _few_places(monkeypatch, tmp_path / "packages")
    before = visible(subject)
    (subject.root / ".git/HEAD").write_text("ref: refs/heads/other\n")
    (subject.root / "reports/latest/report.json").write_text("{ }")
    (subject.root / ".mypy_cache/cache").write_text("new")
    (tmp_path / "beside.txt").write_text("changed\n")
    monkeypatch.setenv("NOT_PASSED_ON", "1")
    assert before.differs_from(visible(subject)) == ""
    monkeypatch.setenv("OMP_NUM_THREADS", "7")
    assert "environment" in before.differs_from(visible(subject))


def _with_path(subject: Subject, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder of the checkout on PATH: the gate leaves it out for itself, and passes it on."""
    monkeypatch.setenv("VERIFYGATE_PROJECTS_PATH", f"{subject.root}/bin:{os.environ['PATH']}")


def _with_credentials(subject: Subject, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PIP_CONFIG_FILE", str(subject.root / "data/rows.csv"))


def _with_umask(_subject: Subject, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = visible_module._lines
    monkeypatch.setattr(visible_module, "_lines", lambda place: [*lines(place), "Umask:\t0007"])


def _with_limit(_subject: Subject, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = visible_module._lines
    monkeypatch.setattr(visible_module, "_lines", lambda place: ["9"] if "/memory" in place else lines(place))


SURROUNDINGS = {
    "PATH": (_with_path, "the environment"),
    "credentials": (_with_credentials, "what is hidden for the sake of credentials"),
    "umask": (_with_umask, "the machine"),
    "a control group": (_with_limit, "the machine"),
}


@pytest.mark.parametrize("change", SURROUNDINGS)
def test_a_change_of_how_it_starts_is_a_change(
    subject: Subject, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: str
) -> None:
    _few_places(monkeypatch, tmp_path / "packages")
    before = visible(subject)
    act, named = SURROUNDINGS[change]
    act(subject, monkeypatch)
    assert before.differs_from(visible(subject)) == f"`{named}` is not as it was"


def test_bytecode_that_comes_to_be_in_force_is_a_change(
    subject: Subject, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Python takes bytecode by the time of its source: touched, the same files are another program."""
    _few_places(monkeypatch, tmp_path / "packages")
    source = subject.root / "train.py"
    source.write_text("x = 2\n")
    os.utime(source, (1_000_000_000, 1_000_000_000))
    cached = Path(py_compile.compile(str(source), doraise=True) or "")
    source.write_text("x = 1\n")
    run = ["-c", "import train; print(train.x)"]
    before, fresh = visible(subject), subject.run(run, seconds=60).stdout_tail
    os.utime(source, (1_000_000_000, 1_000_000_000))
    after, stale = visible(subject), subject.run(run, seconds=60).stdout_tail
    assert (fresh.strip(), stale.strip()) == ("1", "2")
    assert f"`{cached.relative_to(subject.root)}`" in before.differs_from(after)
    os.utime(subject.root / "data/rows.csv", (1, 1))
    assert after.differs_from(visible(subject)) == ""


def test_what_it_may_write_in_an_environment_of_the_project_is_known(
    subject: Subject, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Bytecode, too: the next process runs it."""
    cached = subject.root / ".venv/lib/__pycache__"
    cached.mkdir(parents=True)
    _few_places(monkeypatch, subject.root / ".venv")
    before = visible(subject)
    (cached / "site.cpython-311.pyc").write_bytes(b"1")
    assert "`.venv`" in before.differs_from(visible(subject))


def test_large_files_that_change_places_are_known(
    subject: Subject, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whole folders that are renamed leave every time of their files as it was."""
    _few_places(monkeypatch, tmp_path / "packages")
    one, two = subject.root / "one", subject.root / "two"
    for folder in (one, two):
        folder.mkdir()
        (folder / "large").write_bytes(folder.name.encode() * (1 << 20))
    for _ in range(100):
        os.utime(one / "large", (1, 1))
        os.utime(two / "large", (1, 1))
        if (one / "large").stat().st_ctime_ns == (two / "large").stat().st_ctime_ns:
            break
    else:
        pytest.skip("this kernel gives no two files the same time")
    before = visible(subject)
    one.rename(tmp_path / "aside")
    two.rename(one)
    (tmp_path / "aside").rename(two)
    assert "/large`" in before.differs_from(visible(subject))


def test_a_large_file_that_is_changed_in_memory_is_known(
    subject: Subject, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As `numpy.memmap` does: only the first of several changes of a page sets the times of the file."""
    _few_places(monkeypatch, tmp_path / "packages")
    monkeypatch.setattr(visible_module, "_YOUNG_SECONDS", 0.05)
    large = subject.root / "data/large"
    large.write_bytes(b"0" * (2 << 20))
    with large.open("r+b") as file, mmap.mmap(file.fileno(), 0) as mapped:
        mapped[0] = 1
        before = visible(subject)
        mapped[0] = 2
        after = visible(subject)
    if subprocess.check_output(["stat", "-f", "-c", "%T", large], text=True).strip() == "tmpfs":
        pytest.skip("a file system in memory never writes out")
    assert "`data/large`" in before.differs_from(after)


def test_what_others_write_into_is_not_known(subject: Subject, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _few_places(monkeypatch, tmp_path / "packages")
    os.mkfifo(subject.root / "data/pipe")
    assert "`pipe` is a pipe" in visible(subject).unknown


def test_what_goes_meanwhile_is_not_known_and_ends_nothing(
    subject: Subject, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _few_places(monkeypatch, tmp_path / "packages")
    shutil.rmtree(subject.root)
    assert "cannot be read: No such file" in visible(subject).unknown


def test_a_project_of_too_many_files_is_not_known(subject: Subject, monkeypatch: pytest.MonkeyPatch) -> None:
    _few_places(monkeypatch, subject.root.parent)
    monkeypatch.setattr(visible_module, "MOST_FILES", 1)
    assert "more than 1 files" in visible(subject).unknown


def test_the_words_name_what_is_seen() -> None:
    words = in_words(Isolation.HERMETIC, tuple(LAYERS))
    assert "nothing seen but the project" in words
    assert "network (policy)" not in words
