"""Which files run together, told from their imports."""

from __future__ import annotations

import random

import pytest

from verifygate.sources.file import SourceFile
from verifygate.sources.import_resolution import ImportResolver
from verifygate.sources.tree import Sources
from verifygate.static.symbols.import_graph import ImportGraph


def project(imports: dict[str, set[str]]) -> Sources:
    """Files of these names, each with its imports."""
    return Sources(
        SourceFile(f"{name}.py", "".join(f"import {other}\n" for other in sorted(others)).encode())
        for name, others in imports.items()
    )


def companions_of(sources: Sources) -> ImportGraph:
    return ImportGraph(sources, ImportResolver(sources))


def reached(start: str, imports: dict[str, set[str]]) -> set[str]:
    """The naive way."""
    seen: set[str] = set()
    stack = [start]
    while stack:
        name = stack.pop()
        stack += imports[name] - seen - {name}
        seen.add(name)
    return {f"{name}.py" for name in seen}


@pytest.mark.parametrize("seed", range(20))
def test_a_program_is_all_that_is_imported(seed: int) -> None:
    """With circles, and in whatever order it is asked: what is known of one file is used for the next."""
    draw = random.Random(seed)  # noqa: S311 - to have many graphs
    names = [f"file{number}" for number in range(30)]
    imports = {name: set(draw.sample(names, draw.choice((0, 0, 1, 2, 3)))) for name in names}
    import_graph = companions_of(project(imports))

    for name in draw.sample(names, len(names)):
        assert set(import_graph.closure(f"{name}.py")) == reached(name, imports), name


def test_files_run_together_with_all_that_one_of_their_programs_imports() -> None:
    import_graph = companions_of(
        project({"train": {"net", "data"}, "test": {"net"}, "net": set(), "data": {"net"}, "x": set()})
    )

    assert [sorted(files) for files in import_graph.programs("net.py")] == [
        ["net.py", "test.py"],
        ["data.py", "net.py", "train.py"],
    ]
    together = import_graph.together("net.py")
    assert list(together) == ["data.py", "net.py", "test.py", "train.py"]
    assert len(together) == 4
    assert "x.py" not in together
    assert "of_another_project.py" not in together
    assert together - {"net.py"} == {"data.py", "test.py", "train.py"}
    assert together == import_graph.together("net.py")
    assert together != import_graph.together("data.py")


@pytest.mark.parametrize("seed", range(20))
def test_programs_stand_in_the_order_of_their_sizes_and_then_of_their_paths(seed: int) -> None:
    draw = random.Random(seed)  # noqa: S311 - to have many graphs
    names = [f"part{number}" for number in range(6)]
    entries = {f"entry{number}": {"hub", *draw.sample(names, draw.choice((1, 2, 3)))} for number in range(12)}

    programs = companions_of(project({**entries, **{name: set[str]() for name in (*names, "hub")}})).programs("hub.py")

    assert len(programs) == 12
    assert programs == sorted(programs, key=lambda files: (len(files), [*files]))


def test_what_a_program_loads_by_name_may_be_any_file_that_nothing_imports() -> None:
    sources = Sources(
        [
            SourceFile("train.py", b"import importlib\nimport net\nimportlib.import_module(name)\n"),
            SourceFile("net.py", b""),
            SourceFile("plugin.py", b"import helper\n"),
            SourceFile("helper.py", b""),
            SourceFile("script.py", b"import net\nif __name__ == '__main__':\n    main()\n"),
        ]
    )
    import_graph = companions_of(sources)

    assert set(import_graph.together("train.py")) == {"train.py", "net.py"}
    assert set(import_graph.with_loaded("train.py")) == {"train.py", "net.py", "plugin.py", "helper.py"}
    assert set(import_graph.with_loaded("plugin.py")) == {"plugin.py", "helper.py"}
