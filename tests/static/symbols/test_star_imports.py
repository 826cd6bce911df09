"""Which file binds a name that `from x import *` brings."""

from __future__ import annotations

import pytest

from verifygate.sources.file import SourceFile
from verifygate.sources.tree import Sources
from verifygate.static.symbols.program import Program
from verifygate.static.symbols.star_imports import StarImports

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
    found = StarImports(program).binder(name, module)
    assert (found and found.path) == expected
