"""Write `@pytest.mark.requirement("ID")` above a test, and nothing else: every other line stays as it is."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from verifygate.base.errors import UsageError

Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


def marked(text: str, names: Sequence[str], identifier: str, shown: str) -> str:
    """The source with the mark on the test, or the class of tests, that `names` lead to; the same where it has it.

    Raises UsageError, about `shown`, where the text is no Python, or holds no such test.
    """
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError) as error:
        raise UsageError("cannot be read as Python", where=shown, remedy="correct the file first") from error
    found = _definition(tree, names)
    if found is None:
        there = ", ".join(sorted(_tests(tree))[:5])
        remedy = f"there are: {there}" if there else "name a function or class whose name begins with `test` or `Test`"
        raise UsageError(f"there is no test `{'::'.join(names)}`", where=shown, remedy=remedy)
    if identifier in _marks(found):
        return text
    newline = "\r\n" if "\r\n" in text else "\n"
    lines = text.split("\n")
    first = min([found.lineno, *(decorator.lineno for decorator in found.decorator_list)])
    indent = lines[first - 1][: len(lines[first - 1]) - len(lines[first - 1].lstrip())]
    lines.insert(first - 1, f'{indent}@pytest.mark.requirement("{identifier}"){newline[:-1]}')
    if not _imports_pytest(tree):
        lines.insert(_import_line(tree) - 1, f"import pytest{newline[:-1]}")
    written = "\n".join(lines)
    again = _definition(ast.parse(written), names)
    assert again is not None  # noqa: S101 - two lines were added, neither of them ends a definition
    assert identifier in _marks(again)  # noqa: S101
    return written


def _definition(tree: ast.AST, names: Sequence[str]) -> Definition | None:
    """The definition behind `TestLoop, test_clip`: the last one of its name, which is the one that pytest sees."""
    inner: ast.AST | None = tree
    for name in names:
        body = getattr(inner, "body", ())
        inner = next((each for each in reversed(body) if isinstance(each, Definition) and each.name == name), None)
        if inner is None:
            return None
    return inner if isinstance(inner, Definition) else None


def _tests(tree: ast.AST, above: str = "") -> Iterator[str]:
    for each in getattr(tree, "body", ()):
        if isinstance(each, Definition) and each.name.lower().startswith("test"):
            yield f"{above}{each.name}"
            if isinstance(each, ast.ClassDef):
                yield from _tests(each, f"{above}{each.name}::")


def _marks(definition: Definition) -> set[str]:
    """The ids that the requirement marks of a definition name."""
    calls = [each for each in definition.decorator_list if isinstance(each, ast.Call)]
    return {
        str(argument.value)
        for call in calls
        if isinstance(call.func, ast.Attribute) and call.func.attr == "requirement"
        for argument in call.args
        if isinstance(argument, ast.Constant)
    }


def _imports_pytest(tree: ast.Module) -> bool:
    names = (alias for each in tree.body if isinstance(each, ast.Import) for alias in each.names)
    return any(alias.name == "pytest" and alias.asname is None for alias in names)


def _import_line(tree: ast.Module) -> int:
    """Where an import may stand: behind the docstring and the `__future__` imports, and before all else."""
    body = list(tree.body)
    if body and isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Constant):
        body = body[1:]
    while body and isinstance(body[0], ast.ImportFrom) and body[0].module == "__future__":
        body = body[1:]
    first = body[0]
    decorators = first.decorator_list if isinstance(first, Definition) else []
    return min([first.lineno, *(each.lineno for each in decorators)])
