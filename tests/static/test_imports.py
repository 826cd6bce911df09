"""Which file an import means, and which of the files behind `from x import *` have to be parsed for a name."""

from __future__ import annotations

import pytest

from verifygate.sources.file import SourceFile
from verifygate.sources.tree import Sources
from verifygate.static.symbols.program import Program
from verifygate.static.symbols.star_imports import StarImports

FILES = {
    "package/__init__.py": "from .plain import *\nfrom .onward import *\nfrom .reached import *\n",
    "package/plain.py": """
import a as alias
limit: int = 3

def run():
    inside = 1

class Net:
    part = 2
""",
    "package/onward.py": "if True:\n    from .below import *\n",
    "package/below.py": "def größe():\n    pass\n\nwith open('x') as handle:\n    pass\n",
    "package/reached.py": "def prepare():\n    global made\n    made = 1\n",
    "train.py": "from package import *\nfrom round_about import *\n",
    "round_about.py": "from and_back import *\n",
    "and_back.py": "from round_about import *\nfrom and_back import *\n",
}


@pytest.fixture
def program() -> Program:
    return Program(Sources(SourceFile(path, text.encode()) for path, text in FILES.items()), {})


@pytest.mark.parametrize(
    ("name", "home"),
    [
        ("alias", "package/plain.py"),
        ("limit", "package/plain.py"),
        ("run", "package/plain.py"),
        ("Net", "package/plain.py"),
        ("größe", "package/below.py"),
        ("handle", "package/below.py"),
        ("made", "package/reached.py"),
        ("inside", None),
        ("part", None),
        ("nothing", None),
    ],
)
def test_a_name_is_found_behind_any_number_of_stars(program: Program, name: str, home: str | None):
    train = program.module("train.py")
    assert train is not None

    binder = StarImports(program).binder(name, train)

    assert (binder.path if binder else None) == home


@pytest.mark.parametrize(
    ("name", "parsed"),
    [
        ("inside", ["train.py"]),
        ("limit", ["package/__init__.py", "package/plain.py", "train.py"]),
        ("handle", ["package/__init__.py", "package/below.py", "package/onward.py", "train.py"]),
    ],
)
def test_what_binds_no_such_name_is_not_parsed(program: Program, name: str, parsed: list[str]):
    train = program.module("train.py")
    assert train is not None

    StarImports(program).binder(name, train)

    assert [module.path for module in program.parsed] == parsed


@pytest.mark.parametrize(
    ("name", "importer", "level", "path"),
    [
        ("package.plain", "train.py", 0, "package/plain.py"),
        ("package", "train.py", 0, "package/__init__.py"),
        ("plain", "package/below.py", 1, "package/plain.py"),
        ("train", "package/below.py", 2, "train.py"),
        ("plain", "package/plain.py", 0, "package/plain.py"),  # run as a script in its folder
        ("plain", "package/onward.py", 0, None),  # a part of its package: what lies beside it is not on the path
        ("torch", "train.py", 0, None),
    ],
)
def test_an_import_leads_to_a_file(program: Program, name: str, importer: str, level: int, path: str | None):
    file = program.sources.get(importer)
    assert file is not None

    assert program.imports.located(name, file, level) == path
