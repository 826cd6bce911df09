"""Layers: who may import whom, and what a light command may load."""

from __future__ import annotations

import ast
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Iterator
from pathlib import Path

import pytest

MODULE_LINES, FUNCTION_LINES, ARGUMENTS = 450, 60, 7
ROOT = Path(__file__).parent.parent
LOADED = """
import sys
sys.argv = ["verifygate", *{arguments}]
try:
    from verifygate.cli import main
    sys.exit(main())
except SystemExit as end:
    assert not end.code, end.code
print("loaded:", *sorted(sys.modules))
"""


def run(*command: str | Path, cwd: Path = ROOT) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True, stdin=subprocess.DEVNULL)


def lint_imports(root: Path) -> subprocess.CompletedProcess[str]:
    return run(Path(sysconfig.get_path("scripts"), "lint-imports"), "--no-cache", cwd=root)


def test_imports_keep_to_the_layers():
    """Every contract in .importlinter holds: the stages are strangers, torch and libcst stay where they belong."""
    checked = lint_imports(ROOT)
    assert checked.returncode == 0, checked.stdout + checked.stderr
    assert "0 broken" in checked.stdout


VIOLATIONS = {
    "verifygate/base/errors.py": "import verifygate.gate.run",
    "verifygate/execution/stage.py": "import verifygate.static.engine",
    "verifygate/static/syntax/names.py": "import verifygate.static.engine",
    "verifygate/merge/inputs.py": "import verifygate.merge.findings",
    "verifygate/commands/rules.py": "import verifygate.claims.audit",
    "verifygate/claims/tally.py": "import verifygate.config.settings",
    "verifygate/requirements/placed_nowhere.py": "",
    "verifygate/process/subject.py": "import verifygate.process.circle",
    "verifygate/process/circle.py": "import verifygate.process.subject",
    "verifygate/scoring.py": "import torch",
    "verifygate/mutation/editable_source.py": "import libcst",
}
"""File -> a line at its end that a contract forbids."""


@pytest.fixture(scope="module")
def broken(tmp_path_factory: pytest.TempPathFactory) -> str:
    """What lint-imports says of a copy of the package with each of the violations in it."""
    copy = tmp_path_factory.mktemp("copy")
    shutil.copytree(ROOT / "verifygate", copy / "verifygate", ignore=shutil.ignore_patterns("__pycache__", "docs"))
    shutil.copy(ROOT / ".importlinter", copy)
    for name, line in VIOLATIONS.items():
        with (copy / name).open("a", encoding="utf-8") as file:
            file.write(f"{line}\n")
    checked = lint_imports(copy)
    assert checked.returncode == 1, checked.stdout + checked.stderr
    return " ".join(checked.stdout.split())


@pytest.mark.parametrize(
    "said",
    [
        "verifygate.base is not allowed to import verifygate.gate",
        "verifygate.execution is not allowed to import verifygate.static",
        "verifygate.static.syntax is not allowed to import verifygate.static.engine",
        "verifygate.merge.inputs is not allowed to import verifygate.merge.findings",
        "verifygate.claims: - verifygate.commands.rules -> verifygate.claims.audit",
        "verifygate.claims is not allowed to import verifygate.config",
        "verifygate.requirements.placed_nowhere",
        "No cycles are allowed in verifygate.process",
        "verifygate.scoring -> torch",
        "verifygate.mutation.editable_source -> libcst",
    ],
)
def test_a_contract_fails(broken: str, said: str):
    """An import up, to a stranger, in a circle or of what belongs elsewhere; a module that no contract places."""
    assert said in broken


def too_long(package: Path) -> list[str]:
    """The modules below a folder that are longer than a reader keeps in view."""
    lines = {path: path.read_bytes().count(b"\n") for path in sorted(package.rglob("*.py"))}
    assert lines
    return [path.relative_to(package).as_posix() for path, count in lines.items() if count > MODULE_LINES]


def test_no_module_is_too_long():
    """One that grows longer holds two things: cut it."""
    assert too_long(ROOT / "verifygate") == []


def test_a_module_that_is_too_long_is_found(tmp_path: Path):
    (tmp_path / "deep").mkdir()
    (tmp_path / "at_the_limit.py").write_text("\n" * MODULE_LINES, encoding="utf-8")
    (tmp_path / "deep" / "over_it.py").write_text("\n" * (MODULE_LINES + 1), encoding="utf-8")
    assert too_long(tmp_path) == ["deep/over_it.py"]


def too_large(module: Path) -> Iterator[str]:
    """The functions of a module that do not fit on a screen, or have more arguments than a caller remembers.

    `def` and docstring count as lines, `self` is no argument. Of a command, click hands over each option by itself; a
    model of a framework has the framework's own signatures.
    """
    for each in ast.walk(ast.parse(module.read_bytes())):
        if not isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        if (lines := (each.end_lineno or 0) - each.lineno + 1) > FUNCTION_LINES:
            yield f"{module.name}: {each.name} has {lines} lines"
        given = [one.arg for one in (*each.args.posonlyargs, *each.args.args, *each.args.kwonlyargs)]
        count = len(given) - (given[:1] in (["self"], ["cls"]))
        is_command = any(ast.unparse(one).startswith("click.command(") for one in each.decorator_list)
        if count > ARGUMENTS and not is_command and not module.is_relative_to(ROOT / "verifygate/static/models"):
            yield f"{module.name}: {each.name} has {count} arguments"


def test_no_function_is_too_large():
    """Steps with names are easier to read than one long function, and a record than a row of arguments."""
    assert [found for module in sorted((ROOT / "verifygate").rglob("*.py")) for found in too_large(module)] == []


def test_a_function_that_is_too_large_is_found(tmp_path: Path):
    (module := tmp_path / "large.py").write_text(
        "def at_the_limit(a, b, c, d, e, *, f, g):\n" + "    a\n" * (FUNCTION_LINES - 1)
        + "class Some:\n    def at_the_limit(self, a, b, c, d, e, f, g): ...\n"
        + "    async def over_it(self, a, b, c, d, e, f, *, g, h):\n" + "        a\n" * FUNCTION_LINES
        + "@click.command()\ndef of_click(a, b, c, d, e, f, g, h): ...\n"
    )  # fmt: skip
    assert list(too_large(module)) == ["large.py: over_it has 61 lines", "large.py: over_it has 8 arguments"]


def loaded(*arguments: str) -> set[str]:
    """The modules that a command has loaded when it is done."""
    ended = run(sys.executable, "-c", LOADED.format(arguments=arguments))
    assert ended.returncode == 0, ended.stderr
    return set(ended.stdout.splitlines()[-1].split()[1:])


def test_version_loads_nothing_heavy():
    """`verifygate --version` answers without torch, libcst or pydantic, so hooks and shells get it at once."""
    found = loaded("--version")
    assert "verifygate" in found
    assert found.isdisjoint({"torch", "libcst", "pydantic"})


def test_nothing_loads_the_audit_of_claims_but_its_command():
    """It is a product of its own: not even the group of commands that it belongs to knows more than its name."""
    assert not [name for name in loaded("evidence", "--help") if name.startswith("verifygate.claims")]


def test_a_command_loads_no_other_command():
    """`check` runs on every commit of somebody's: it must not grow with what the other commands need."""
    found = {name for name in loaded("check", "--help") if "verifygate.commands" in name}
    assert found == {f"verifygate.commands{name}" for name in ("", ".check", ".options")}
