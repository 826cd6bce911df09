"""Which file an import means, and which file binds a name that `from x import *` brings."""

from __future__ import annotations

import pytest

from verifygate.sources.tree import SourceFile, Sources
from verifygate.static.symbols.import_resolution import Imports
from verifygate.static.symbols.program import Program
from verifygate.static.symbols.star_imports import Stars

FILES = {
    "train.py": "",
    "losses.py": "",
    "pkg/__init__.py": "",
    "pkg/main.py": "from .tools import make",
    "pkg/tools.py": "",
    "pkg/sub/__init__.py": "",
    "pkg/sub/deep.py": "",
    "src/lib/__init__.py": "",
    "src/lib/core.py": "",
    "scripts/run.py": "import helper",
    "scripts/helper.py": "",
}


@pytest.mark.parametrize(
    ("name", "importer", "level", "expected"),
    [
        ("losses", "train.py", 0, "losses.py"),
        ("pkg", "train.py", 0, "pkg/__init__.py"),
        ("pkg.tools", "train.py", 0, "pkg/tools.py"),
        ("lib.core", "train.py", 0, "src/lib/core.py"),
        ("helper", "scripts/run.py", 0, "scripts/helper.py"),
        ("losses", "scripts/run.py", 0, "losses.py"),
        ("tools", "pkg/main.py", 1, "pkg/tools.py"),
        ("", "pkg/main.py", 1, "pkg/__init__.py"),
        ("tools", "pkg/sub/deep.py", 2, "pkg/tools.py"),
        ("pkg.tools", "pkg/sub/deep.py", 0, "pkg/tools.py"),
        ("helper", "train.py", 0, None),
        ("torch", "train.py", 0, None),
        ("numpy", "pkg/main.py", 0, None),
    ],
)
def test_an_import_means(name: str, importer: str, level: int, expected: str | None) -> None:
    sources = Sources(SourceFile(path, text.encode()) for path, text in FILES.items())
    file = sources.get(importer)
    assert file is not None
    assert Imports(sources).located(name, file, level) == expected


STARS = {
    "a.py": "from b import *\nfrom c import *\nown = 1\n",
    "b.py": "x = 1\ny = 1\n_hidden = 1\n",
    "c.py": "y = 2\nfrom d import *\n",
    "d.py": "z = 3\nfrom a import *\n",
}


@pytest.mark.parametrize(
    ("name", "expected"),
    [("own", "a.py"), ("x", "b.py"), ("y", "c.py"), ("z", "d.py"), ("_hidden", None), ("print", None)],
)
def test_a_star_import_binds(name: str, expected: str | None) -> None:
    """The last one hides the others, names that begin with an underscore stay, and circles end."""
    program = Program(Sources(SourceFile(path, text.encode()) for path, text in STARS.items()), dict.fromkeys(STARS))
    module = program.module("a.py")
    assert module is not None
    found = Stars(program).binder(name, module)
    assert (found and found.path) == expected
