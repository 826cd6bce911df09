"""AMP304: switch the scaler on for float16 only. Unsafe: a step that the scaler skipped for an inf is made then."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import libcst as cst

from verifygate.fix.call_arguments import with_keyword
from verifygate.fix.concrete_tree import Edits, Tree, dotted
from verifygate.fix.draft import CannotFixError, Draft, Project
from verifygate.model import Applicability, Finding

TOGETHER = False

_MOST = 4
"""Positional arguments that surely leave `enabled` to a keyword, in the old constructors and the new one."""


def draft(tree: Tree, findings: Sequence[Finding], _project: Project) -> Draft:
    """Build the fix. Raises CannotFixError where the dtype of the regions is not plain to see at the scaler."""
    (finding,) = findings
    call = next(
        (each for each in tree.at(finding, cst.Call) if _qualified(tree, each.func).endswith("GradScaler")), None
    )
    positional = sum(each.keyword is None for each in call.args) if call is not None else 0
    if call is None or positional > _MOST or any(argument.star for argument in call.args):
        raise CannotFixError("the scaler is built elsewhere, or its arguments are not literal")
    given = next((each for each in call.args if each.keyword is not None and each.keyword.value == "enabled"), None)
    if given is not None and (turned := _turned(tree, given.value)) is not None:
        edits = Edits(changes={given.value: lambda _: turned})
    else:
        wanted = _wanted(tree, finding, call)
        if given is None:
            edits = Edits(changes={call: with_keyword("enabled", wanted)})
        elif isinstance(wanted, cst.Name):
            edits = Edits(changes={given.value: lambda _: wanted})
        else:
            raise CannotFixError("the scaler already has an `enabled` setting of another meaning")
    return tree.draft(edits, findings, [tree.lines(call)], Applicability.UNSAFE)


def _turned(tree: Tree, test: cst.BaseExpression) -> cst.BaseExpression | None:
    """`dtype == torch.bfloat16`, which is the wrong way round, with float16 in its place."""
    if not isinstance(test, cst.Comparison) or len(test.comparisons) != 1:
        return None
    target = test.comparisons[0]
    right = target.comparator
    if not isinstance(target.operator, cst.Equal):
        return None
    new: cst.BaseExpression
    if isinstance(right, cst.Attribute) and _qualified(tree, right) == "torch.bfloat16":
        new = right.with_changes(attr=cst.Name("float16"))
    elif isinstance(right, cst.SimpleString) and right.evaluated_value == "bfloat16":
        new = right.with_changes(value=right.value.replace("bfloat16", "float16"))
    else:
        return None
    return test.with_changes(comparisons=[target.with_changes(comparator=new)])


def _wanted(tree: Tree, finding: Finding, call: cst.Call) -> cst.BaseExpression:
    """What `enabled` must be: False where every region is in bfloat16, else a test of the dtype they are given."""
    dtypes = list(_dtypes(tree, finding))
    texts = {tree.text(dtype) for dtype in dtypes}
    if dtypes and all(_qualified(tree, dtype) == "torch.bfloat16" for dtype in dtypes):
        return cst.Name("False")
    dtype = dtypes[0] if len(texts) == 1 else None
    if not isinstance(dtype, cst.Name) or not _is_known(tree, dtype, call):
        raise CannotFixError("cannot determine the dtype of the regions where the scaler is built")
    return cst.parse_expression(f"{dtype.value} == {_torch(tree, call)}.float16")


def _dtypes(tree: Tree, finding: Finding) -> Iterator[cst.BaseExpression]:
    """What each region that the finding tells of gets for a dtype. Raises CannotFixError where that is not written."""
    for step in finding.steps:
        if not step.text.startswith("the region"):
            continue
        made = [
            call
            for call in tree.within(tree.module, cst.Call)
            if step.path == tree.path and dotted(call.func)[-1:] == ["autocast"] and tree.lines(call)[0] == step.line
        ]
        given = [each.value for call in made for each in call.args if each.keyword and each.keyword.value == "dtype"]
        if len(made) != 1 or len(given) != 1:
            raise CannotFixError("the dtype of a region is not written where it is entered")
        yield given[0]


def _is_known(tree: Tree, dtype: cst.Name, call: cst.Call) -> bool:
    """Whether the variable is the same one at the region and at the scaler, and has its last value by then."""
    here, there = tree.scope(call), tree.scope(dtype)
    if here is None or there is None:
        return False
    bound = set(here[dtype.value])
    if not bound or bound != set(there[dtype.value]):
        return False
    nodes = [getattr(each, "node", None) for each in bound]
    return all(
        isinstance(node, cst.Param)
        or (
            node is not None
            and (tree.function(node) is not tree.function(call) or _line(tree, node) < _line(tree, call))
        )
        for node in nodes
    )


def _line(tree: Tree, node: cst.CSTNode) -> int:
    return tree.lines(node)[0]


def _torch(tree: Tree, call: cst.Call) -> str:
    """What torch is called at the scaler. Raises CannotFixError."""
    scope = tree.scope(call)
    for name in ("torch", "th"):
        if scope is not None and {each.name for each in scope.get_qualified_names_for(name)} == {"torch"}:
            return name
    raise CannotFixError("`import torch` is missing")


def _qualified(tree: Tree, node: cst.BaseExpression) -> str:
    scope = tree.scope(node)
    names = {each.name for each in scope.get_qualified_names_for(node)} if scope is not None and dotted(node) else set()
    return names.pop() if len(names) == 1 else ""
