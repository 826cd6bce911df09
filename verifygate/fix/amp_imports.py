"""Where a rewritten name comes from: its own import moved to torch.amp where nothing else needs it, else `torch.amp`.

An import is moved only when every use of the name in the file is rewritten with it (annotations and `isinstance` go
along: the new class is the parent of the old), and no other file takes the name from this one.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

import libcst as cst
from libcst import metadata

from verifygate.fix.concrete_tree import Change, Edits, Tree, dotted, root_name
from verifygate.fix.draft import CannotFixError
from verifygate.sources.tree import Sources

_Import = cst.Import | cst.ImportFrom


@dataclass(frozen=True)
class Callee:
    """A dotted expression that means a deprecated name, and the name's last part in torch.amp."""

    node: cst.BaseExpression
    qualified: str
    name: str

    @property
    def root(self) -> str:
        """What the leftmost name stands for: `torch`, `torch.cuda.amp`, or the deprecated name itself."""
        parts = self.qualified.split(".")
        return ".".join(parts[: len(parts) - len(dotted(self.node)) + 1])


def plan_imports(
    tree: Tree, callees: Sequence[Callee], sources: Sources, edits: Edits, lines: list[tuple[int, int]]
) -> list[cst.BaseExpression]:
    """What to write for each callee; import changes go to `edits`, and their lines to `lines`."""
    rewritten = {root_name(callee.node) for callee in callees}
    moved: dict[_Import, list[cst.ImportAlias]] = {}
    written: list[cst.BaseExpression] = []
    for callee in callees:
        root = root_name(callee.node)
        assert root is not None  # noqa: S101 - a callee is a dotted name
        if callee.root == "torch":
            written.append(_attribute(root.value, "amp", callee.name))
            continue
        binding = _movable(tree, root, callee, rewritten, sources)
        if binding is None:
            written.append(_attribute(torch_name(tree, root, edits, lines), "amp", callee.name))
            continue
        statement, alias = binding
        aliases = moved.setdefault(statement, [])
        if alias not in aliases:
            aliases.append(alias)
        written.append(root if callee.root == callee.qualified else _attribute(root.value, callee.name))
    for statement, aliases in moved.items():
        _move(tree, statement, aliases, edits, lines)
    return written


def _attribute(root: str, *names: str) -> cst.BaseExpression:
    made: cst.BaseExpression = cst.Name(root)
    for name in names:
        made = cst.Attribute(made, cst.Name(name))
    return made


def _movable(
    tree: Tree, root: cst.Name, callee: Callee, rewritten: set[cst.Name | None], sources: Sources
) -> tuple[_Import, cst.ImportAlias] | None:
    """The import that binds the name, where it can be pointed at torch.amp without touching any other use."""
    scope = tree.scope(root)
    assignments = list(scope[root.value]) if scope is not None else []
    if len(assignments) != 1 or not isinstance(assignments[0], metadata.ImportAssignment):
        return None
    found = assignments[0]
    direct = callee.root == callee.qualified
    if not direct and not re.fullmatch(r"torch\.(cuda|cpu)\.amp", callee.root):
        return None
    for access in found.references:
        if root_name(access.node) in rewritten:
            continue
        if not ((direct or _is_in_torch_amp(tree, access.node)) and _goes_along(tree, access.node)):
            return None
    statement = found.node
    if not isinstance(statement, cst.Import | cst.ImportFrom) or isinstance(statement.names, cst.ImportStar):
        return None
    if found.scope is tree.global_scope and _taken_elsewhere(tree, root.value, sources):
        return None
    alias = next((each for each in statement.names if _bound(each) == root.value), None)
    return (statement, alias) if alias is not None and _splittable(tree, statement) else None


def _goes_along(tree: Tree, node: cst.CSTNode) -> bool:
    """Whether a use of the class holds of the new one as well: an annotation, or the class that is asked for."""
    inner = node
    for here in tree.above(node):
        if isinstance(here, cst.Annotation) or (isinstance(here, cst.ComparisonTarget) and here.comparator is inner):
            return True
        if isinstance(here, cst.Call):
            asks = isinstance(here.func, cst.Name) and here.func.value in ("isinstance", "issubclass")
            return asks and len(here.args) > 1 and here.args[1] is inner
        inner = here
    return False


def _is_in_torch_amp(tree: Tree, module: cst.CSTNode) -> bool:
    """Whether `amp.something` names something that torch.amp has as well."""
    parts = dotted(tree.parent(module) or module)
    return len(parts) == 2 and parts[1] in ("autocast", "GradScaler", "custom_fwd", "custom_bwd")


def _bound(alias: cst.ImportAlias) -> str:
    if alias.asname is not None and isinstance(alias.asname.name, cst.Name):
        return alias.asname.name.value
    return ".".join(dotted(alias.name))


def _splittable(tree: Tree, statement: _Import) -> bool:
    """A statement that must be split stands on a line of its own, with no comments among its names."""
    if isinstance(statement, cst.Import) or isinstance(statement.names, cst.ImportStar) or len(statement.names) == 1:
        return True
    line = tree.parent(statement)
    alone = isinstance(line, cst.SimpleStatementLine) and len(line.body) == 1
    return alone and "#" not in tree.module.code_for_node(statement)


def _taken_elsewhere(tree: Tree, name: str, sources: Sources) -> bool:
    """Whether the file hands the name on: in `__all__`, or to a file that imports it from here."""
    if "__all__" in tree.module.code:
        return True
    path = PurePosixPath(tree.path)
    stem = path.parent.name if path.stem == "__init__" else path.stem
    module, word = re.escape(stem).encode(), re.escape(name).encode()
    taken = re.compile(
        rb"\bfrom\s+[\w.]*\b" + module + rb"\s+import\s+(?:\([^)]*\b|[^\n(]*\b)?(?:\*|" + word + rb"\b)"
        rb"|\b" + module + rb"\." + word + rb"\b"
    )
    return any(taken.search(file.data) for file in sources if file.path != tree.path)


def torch_name(tree: Tree, root: cst.Name, edits: Edits, lines: list[tuple[int, int]]) -> str:
    """A name that means torch where `root` stands; `import torch` is added in front of the import of `root`."""
    scope, top = tree.scope(root), tree.global_scope
    assert scope is not None  # noqa: S101 - it was looked up before
    for assignment in top.assignments:
        if not isinstance(assignment, metadata.ImportAssignment) or not isinstance(assignment.node, cst.Import):
            continue
        name = assignment.name.partition(".")[0]
        seen = scope[name]
        meant = {qualified.name for qualified in scope.get_qualified_names_for(name)}
        if meant == {"torch"} and all(each.scope is top for each in seen):
            return name
    if scope["torch"]:
        raise CannotFixError("the name `torch` means something else here")
    binding = next(iter(scope[root.value]))
    if not isinstance(binding, metadata.ImportAssignment) or binding.scope is not top:
        raise CannotFixError("`import torch` is missing, and there is no safe place to insert it")
    statement = tree.statement(binding.node)
    if not isinstance(tree.block(statement), cst.Module):
        raise CannotFixError("`import torch` is missing, and there is no safe place to insert it")
    if not edits.before.get(statement):
        edits.before[statement] = [tree.new_statement("import torch")]
        first = tree.lines(statement)[0] - len(statement.leading_lines)
        lines.append((first, first - 1))
    return "torch"


def _move(
    tree: Tree, statement: _Import, aliases: list[cst.ImportAlias], edits: Edits, lines: list[tuple[int, int]]
) -> None:
    """Point these names of an import statement at torch.amp; the others stay where they are."""
    lines.append(tree.lines(statement))
    assert not isinstance(statement.names, cst.ImportStar)  # noqa: S101 - refused in _movable
    if isinstance(statement, cst.Import):
        for alias in aliases:
            edits.changes[alias] = _renamed
        return
    parent = "torch" if dotted(aliases[0].name) == ["amp"] else "torch.amp"
    module = cst.parse_expression(parent)
    if len(aliases) == len(statement.names):
        edits.changes[statement] = lambda node: node.with_changes(module=module)
        return
    edits.changes[statement] = _without(aliases)
    names = ", ".join(tree.text(alias.with_changes(comma=cst.MaybeSentinel.DEFAULT)) for alias in aliases)
    line = tree.statement(statement)
    edits.after.setdefault(line, []).append(tree.new_statement(f"from {parent} import {names}"))


def _renamed(alias: cst.CSTNode) -> cst.CSTNode:
    return alias.with_changes(name=cst.parse_expression("torch.amp"))


def _without(aliases: list[cst.ImportAlias]) -> Change:
    dropped = {_bound(alias) for alias in aliases}

    def change(node: cst.CSTNode) -> cst.CSTNode:
        assert isinstance(node, cst.ImportFrom)  # noqa: S101
        assert not isinstance(node.names, cst.ImportStar)  # noqa: S101
        old = list(node.names)
        kept = [alias for alias in old if _bound(alias) not in dropped]
        if kept[-1] is not old[-1]:  # what stood behind the last name now stands behind this one
            kept[-1] = kept[-1].with_changes(comma=old[-1].comma)
        return node.with_changes(names=kept)

    return change
