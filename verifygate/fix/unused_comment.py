"""GATE102: take out a suppression that silences nothing.

Unsafe: a scan of some files only may not see the finding that another file brings about, and that it is there for.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import libcst as cst

from verifygate.fix.concrete_tree import Edits, Tree
from verifygate.fix.draft import CannotFixError, Draft, Project
from verifygate.model import Applicability, Finding

TOGETHER = False

_SUPPRESSION = re.compile(r"(?i)#\s*verifygate:\s*ignore\s*\[(?P<rules>[^\]]*)\](?P<reason>[^#]*)")
_CODE = re.compile(r"\bbreaks (\w+)")


def draft(tree: Tree, findings: Sequence[Finding], _project: Project) -> Draft:
    """Take out the comment, or one rule of several from its list. Raises CannotFixError."""
    (finding,) = findings
    comments = [each for each in tree.within(tree.module, cst.Comment) if tree.lines(each)[0] == finding.line]
    told = _CODE.search(finding.message)
    found = _SUPPRESSION.search(comments[0].value) if len(comments) == 1 else None
    if found is None or told is None:
        raise CannotFixError("there is no such comment at the location of the finding")
    comment, holder = comments[0], tree.parent(comments[0])
    rules = [rule for rule in re.split(r"[,\s]+", found["rules"].strip()) if rule]
    left = [rule for rule in rules if rule.upper() != told[1]]
    edits = Edits()
    if len(rules) > 1:
        if len(left) != len(rules) - 1:
            raise CannotFixError("the comment names the rule by its name, not by its code")
        text = comment.value[: found.start("rules")] + ", ".join(left) + comment.value[found.end("rules") :]
        edits.changes[comment] = lambda node: node.with_changes(value=text)
    elif rest := (comment.value[: found.start()] + comment.value[found.end() :]).strip():
        edits.changes[comment] = lambda node: node.with_changes(value=rest)
    elif isinstance(holder, cst.TrailingWhitespace):
        edits.changes[holder] = lambda node: node.with_changes(comment=None, whitespace=cst.SimpleWhitespace(""))
    elif holder is not None:
        edits.removed.add(holder)
    return tree.draft(edits, findings, [(finding.line, finding.line)], Applicability.UNSAFE)
