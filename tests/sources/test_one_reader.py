"""Whatever the gate reads, it reads by one reader: a regular file, of a limited size, inside its tree."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import verifygate

PACKAGE = Path(verifygate.__file__).parent
APART = {
    "instrument/": "runs in the subject's process, with the subject's rights",
    "quality/": "tools for work on verifygate itself: they read its own repository, and archives that they fetched",
    "base/regular_files.py": "is the reader",
}
ALLOWED = {
    ("base/answer_store.py", "os.open"): "made anew, to write (O_EXCL)",
    ("base/owned_folders.py", "os.open"): "a folder of ours, to lock it",
    ("base/warden.py", "Path(path).read_bytes"): "/proc",
    ("base/secret_forms.py", "LIST.read_text"): "a file of this package",
    ("cli.py", "os.open"): "/dev/null",
    ("commands/ci_files.py", "(top / name).open"): "made anew, to write (x)",
    (
        "commands/ci_files.py",
        "importlib.metadata.distribution(DISTRIBUTION).read_text",
    ): "what pip noted of it",
    ("commands/github_job.py", "os.open"): "the runner's own files, to write; what they are is asked of the descriptor",
    ("commands/init.py", "shipped.read_bytes"): "a file of this package",
    ("commands/rules.py", "found[name].read_text"): "a file of this package",
    ("commands/rules.py", "pages[topic].read_text"): "a file of this package",
    ("configured_precision/framework_table.py", "each.read_text"): "a file of this package",
    ("execution/instruments.py", "shutil.copytree"): "files of this package",
    ("process/sandbox.py", "Path(f'/proc/self/{name}').read_text"): "/proc",
    ("process/sandbox.py", "Path(sys.argv[1]).read_bytes"): "the orders of the gate, in a folder of its own",
    ("process/own_folders.py", "Path('/proc/net/unix').read_text"): "/proc",
    ("process/own_folders.py", "Path('/proc/self/mountinfo').read_text"): "/proc",
    ("process/own_folders.py", "os.open"): "a place to mount, opened without a right to read (O_PATH)",
    ("process/rights.py", "Path('/proc/sys/kernel/cap_last_cap').read_text"): "/proc",
    ("process/rights.py", "os.open"): "a place to grant, opened without a right to read (O_PATH)",
    ("process/orphans.py", "Path(path).read_bytes"): "/proc",
    ("process/subject.py", "outputs[0].open"): "made anew, to write",
    ("process/subject.py", "outputs[1].open"): "made anew, to write",
    ("process/visible.py", "os.open"): "a large file, to have it written out (O_NOFOLLOW, O_NONBLOCK); it is not read",
    ("report/rule_pages.py", "file.read_bytes"): "a file of this package",
    ("report/write.py", "path.open"): "to write",
    ("run_history.py", "os.open"): "to read and add to under a lock; what it is is asked of the descriptor",
    ("static/machine/models.py", "file.read_bytes"): "a file of this package",
    ("sources/git_export.py", "shutil.copyfile"): "an object of LFS, whose digest was asked for",
    ("sources/named_programs.py", "zipfile.ZipFile"): "what the reader opened",
    (
        "static/machine/torch_library/operators.py",
        "(files(__package__) / 'operators.json').read_text",
    ): "a file of this package",
}
OPENS = {"open", "read_text", "read_bytes", "ZipFile", "file_digest", "copyfile", "copytree", "copy2", "getlines"}
ONLY_OF = {"copy": "shutil", "parse": "ElementTree", "iterparse": "ElementTree", "read": "parser"}
"""Names that mean more than one thing, and what they are called on where they open a file."""


def opened_in(file: Path) -> Iterator[str]:
    """What is called in a module to open a file, as it is written."""
    for node in ast.walk(ast.parse(file.read_bytes())):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute | ast.Name):
            name = node.func.attr if isinstance(node.func, ast.Attribute) else node.func.id
            if name in OPENS or (name in ONLY_OF and ONLY_OF[name] in ast.unparse(node.func).rpartition(".")[0]):
                yield ast.unparse(node.func)


def test_nothing_but_the_reader_opens_a_file() -> None:
    """A call that opens a file by its name, outside of the reader, is one of those that the table has a reason for."""
    found = set()
    for file in sorted(PACKAGE.rglob("*.py")):
        path = file.relative_to(PACKAGE).as_posix()
        if not path.startswith(tuple(APART)):
            found |= {(path, called) for called in opened_in(file)}
    assert sorted(found - set(ALLOWED)) == []
    assert sorted(set(ALLOWED) - found) == [], "a reason for what is no longer there"
