"""Import resolution: which files an import statement loads, where the search path is known and where it is guessed."""

from __future__ import annotations

import pytest

from verifygate.sources.file import SourceFile
from verifygate.sources.import_resolution import ImportResolver, resolve
from verifygate.sources.tree import Sources

FILES = {
    "train.py": "",
    "losses.py": "",
    "pkg/__init__.py": "",
    "pkg/main.py": "from .tools import make",
    "pkg/plain.py": "",
    "pkg/tools.py": "",
    "pkg/torch.py": "",
    "pkg/deepspeed/__init__.py": "",
    "pkg/deepspeed/deepspeed.py": "",
    "lightning.py": "",
    "pkg/sub/__init__.py": "",
    "pkg/sub/deep.py": "",
    "src/lib/__init__.py": "",
    "src/lib/core.py": "",
    "scripts/run.py": "import helper",
    "scripts/helper.py": "",
    "space/part.py": "",
    "twice.py": "",
    "twice/__init__.py": "",
    "hidden.py": "",
    "hidden/below.py": "",
}
ABSOLUTE = {"/project/train.py": "", "/project/losses.py": "", "/project/src/lib.py": "", "/top.py": ""}


def resolver(files: dict[str, str]) -> ImportResolver:
    return ImportResolver(Sources(SourceFile(path, text.encode()) for path, text in files.items()))


@pytest.mark.parametrize(
    ("name", "importer", "level", "expected"),
    [
        ("losses", "train.py", 0, "losses.py"),
        ("pkg", "train.py", 0, "pkg/__init__.py"),
        ("pkg.tools", "train.py", 0, "pkg/tools.py"),
        ("pkg.__init__", "train.py", 0, "pkg/__init__.py"),
        ("lib.core", "train.py", 0, "src/lib/core.py"),
        ("helper", "scripts/run.py", 0, "scripts/helper.py"),
        ("losses", "scripts/run.py", 0, "losses.py"),
        ("tools", "pkg/main.py", 1, "pkg/tools.py"),
        ("", "pkg/main.py", 1, "pkg/__init__.py"),
        ("", "scripts/run.py", 1, None),  # a namespace package has no file
        ("tools", "pkg/sub/deep.py", 2, "pkg/tools.py"),
        ("losses", "pkg/sub/deep.py", 3, "losses.py"),
        ("losses", "pkg/sub/deep.py", 4, None),  # out of everything
        ("lib.core", "train.py", 1, None),  # a relative import is not searched in src/
        ("pkg.tools", "pkg/sub/deep.py", 0, "pkg/tools.py"),
        ("helper", "train.py", 0, None),
        ("torch", "train.py", 0, None),
        ("numpy", "pkg/main.py", 0, None),
        ("plain", "pkg/tools.py", 0, "pkg/plain.py"),  # may be run as a script in its folder
        ("plain", "pkg/main.py", 0, None),  # imports by `from .`: its folder is not on the module path
        ("torch", "pkg/tools.py", 0, None),  # `torch` means torch in any package
        ("deepspeed", "pkg/tools.py", 0, None),  # so does the name of a framework
        ("deepspeed", "pkg/deepspeed/deepspeed.py", 0, None),
        ("deepspeed", "pkg/tools.py", 1, "pkg/deepspeed/__init__.py"),
        ("pkg.deepspeed", "train.py", 0, "pkg/deepspeed/__init__.py"),
        ("lightning", "train.py", 0, "lightning.py"),  # beside a script it hides the library, as in Python
        ("space.part", "train.py", 0, "space/part.py"),
        ("space", "train.py", 0, None),
        ("twice", "train.py", 0, "twice/__init__.py"),  # as in Python, a package goes before a module
        ("hidden.below", "train.py", 0, None),  # and a module before a namespace package
    ],
)
def test_the_module_that_an_import_means(name: str, importer: str, level: int, expected: str | None) -> None:
    found = resolver(FILES)
    file = found.sources.get(importer)
    assert file is not None
    assert found.located(name, file, level) == expected


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("losses", "/project/losses.py"),
        ("lib", "/project/src/lib.py"),
        ("top", "/top.py"),
        ("project.losses", "/project/losses.py"),
    ],
)
def test_files_given_by_absolute_paths(name: str, expected: str) -> None:
    found = resolver(ABSOLUTE)
    file = found.sources.get("/project/train.py")
    assert file is not None
    assert found.located(name, file) == expected


@pytest.mark.parametrize(
    ("name", "names", "expected"),
    [
        ("pkg", ["tools", "make"], {"pkg/__init__.py", "pkg/tools.py"}),
        ("pkg.sub.deep", ["run"], {"pkg/__init__.py", "pkg/sub/__init__.py", "pkg/sub/deep.py"}),
        ("space", ["part"], {"space/part.py"}),
        ("space", ["missing"], set()),
        ("pkg.missing", [], set()),
    ],
)
def test_a_statement_loads_the_packages_around_and_the_submodules(
    name: str, names: list[str], expected: set[str]
) -> None:
    found = resolver(FILES)
    file = found.sources.get("train.py")
    assert file is not None
    resolved = found.resolved(name, file, 0, names)
    assert set(resolved.files if resolved is not None else ()) == expected


@pytest.mark.parametrize(
    ("partly", "expected"), [(False, ("src/a/__init__.py", "src/a/b.py")), (True, ("a/__init__.py",))]
)
def test_on_a_known_search_path_the_first_folder_with_the_beginning_decides(
    partly: bool, expected: tuple[str, ...]
) -> None:
    """Python imports `a` from the first folder that has it, and fails if `a.b` is not there."""
    files = {"a": "a/__init__.py", "src/a": "src/a/__init__.py", "src/a/b": "src/a/b.py"}
    found = resolve("a.b", ["", "src/"], files.get, partly=partly)
    assert found is not None
    assert found.files == expected


def test_what_is_no_name_is_not_searched() -> None:
    """A name may come from a string; one that holds a path must not lead out of the project."""
    assert resolve("../other", [""], lambda path: f"{path}.py", partly=True) is None
    assert resolve("a..b", [""], lambda path: f"{path}.py") is None
