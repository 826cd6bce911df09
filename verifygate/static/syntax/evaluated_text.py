"""Program text that a program runs by itself: what `exec`, `eval` and `compile` are given as a string."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from verifygate.sources.file import AMP_WORDS, SourceFile, SourceUnreadableError

RUNNERS = ("exec", "eval", "compile")
_RUNS = re.compile(rb"(?:(?<![\w.])(?:%b)\(|builtins|=\s*(?:%b)\b(?!\())" % (("|".join(RUNNERS).encode(),) * 2))
"""A call of one of them by its name (`model.eval()` and `re.compile()` are others), or another name for one."""


def text_that_is_run(file: SourceFile) -> str:
    """Why a file is not analysed as a whole: it runs a text that mentions AMP; empty where it does not.

    The text is one that stands in the file: written in the call, or bound to the name that the call is given; as it is,
    or in base 64 or in hexadecimal digits.
    """
    if not _RUNS.search(file.data):
        return ""
    try:
        tree = ast.parse(file.text)
    except (SourceUnreadableError, SyntaxError, ValueError, RecursionError, MemoryError):
        return ""
    texts = {name: node.value for node in ast.walk(tree) if isinstance(node, ast.Assign) for name in _names(node)}
    if tree.body and isinstance(tree.body[0], ast.Expr):
        texts["__doc__"] = tree.body[0].value
    runners = _runners(tree)
    for node in ast.walk(tree):
        if not (isinstance(node, ast.Call) and _dotted(node.func) in runners):
            continue
        for word in node.args[:1]:
            said = "".join(_strings(word, texts)).encode("utf-8", "replace")
            if any(AMP_WORDS.found_in(text) for text in _readings(said)):
                return f"line {node.lineno} runs a text that mentions AMP by `{_dotted(node.func)}`: write it as code"
    return ""


def _runners(tree: ast.Module) -> set[str]:
    """What `exec`, `eval` and `compile` are called in a file."""
    found = {*RUNNERS, *(f"__builtins__.{name}" for name in RUNNERS)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            modules = [each.asname or each.name for each in node.names if each.name == "builtins"]
            found |= {f"{module}.{name}" for module in modules for name in RUNNERS}
        elif isinstance(node, ast.ImportFrom) and node.module == "builtins":
            found |= {each.asname or each.name for each in node.names if each.name in RUNNERS}
    bound = [node for node in ast.walk(tree) if isinstance(node, ast.Assign) and _dotted(node.value) in found]
    return found | {name for node in bound for name in _names(node)}


def _dotted(node: ast.expr) -> str:
    """`a` or `a.b` as it is written; empty for all else."""
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
        return f"{node.value.id}.{node.attr}"
    return node.id if isinstance(node, ast.Name) else ""


def _names(node: ast.Assign) -> Iterator[str]:
    yield from (target.id for target in node.targets if isinstance(target, ast.Name))


def _strings(node: ast.expr, texts: dict[str, ast.expr]) -> Iterator[str]:
    """The strings that an expression is made of, in order; of a name those that it is bound to."""
    for each in ast.walk(node):
        if isinstance(each, ast.Constant) and isinstance(each.value, str | bytes):
            yield each.value if isinstance(each.value, str) else each.value.decode("latin-1")
        elif isinstance(each, ast.Name) and each.id in texts:
            yield from _strings(texts[each.id], {name: value for name, value in texts.items() if name != each.id})


def _readings(text: bytes) -> Iterator[bytes]:
    """The text, and what it says where it is written in another alphabet."""
    import binascii  # for few files

    yield text
    for read in (binascii.a2b_base64, binascii.unhexlify):
        try:
            yield read(text)
        except (binascii.Error, ValueError):
            continue
