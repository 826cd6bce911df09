"""Read the options of `argparse`: the default that an argument such as `args.precision` has on the command line."""

from __future__ import annotations

import ast
import warnings
from collections.abc import Iterable, Iterator

from verifygate.configured_precision.setting import ACCELERATE, HUGGING_FACE, LIGHTNING, Setting
from verifygate.sources.file import SourceFile, SourceUnreadableError

_FRAMEWORKS = {"Trainer": LIGHTNING, "Fabric": LIGHTNING, "Accelerator": ACCELERATE, "Arguments": HUGGING_FACE}
"""How the names of classes end that take a precision -> whose setting it is."""
_KEYWORDS = frozenset({"precision", "mixed_precision", "fp16"})


def default_of(attribute: str, calls: Iterable[ast.Call]) -> ast.Constant | None:
    """The default of the option `--ATTRIBUTE`, if one of the calls is the `add_argument` that gives it one."""
    flags = {f"--{attribute}", f"--{attribute.replace('_', '-')}"}
    for call in calls:
        if _last(call.func) != "add_argument":
            continue
        names = {each.value for each in call.args if isinstance(each, ast.Constant)}
        given = {word.arg: word.value for word in call.keywords}
        default = given.get("default")
        if isinstance(default, ast.Constant) and not flags.isdisjoint(names):
            return default
    return None


def default_settings(file: SourceFile) -> Iterator[Setting]:
    """The precisions that a program hands to a framework where its options are left at their defaults."""
    if b"add_argument(" not in file.data or b"16" not in file.data:
        return
    calls = [node for node in ast.walk(_tree(file)) if isinstance(node, ast.Call)]
    for call in calls:
        last = _last(call.func)
        framework = next((name for ending, name in _FRAMEWORKS.items() if last.endswith(ending)), "")
        for word in call.keywords if framework else ():
            if word.arg not in _KEYWORDS or not isinstance(word.value, ast.Attribute):
                continue
            default = default_of(word.value.attr, calls)
            if default is not None and isinstance(default.value, str | int | bool):
                yield Setting(
                    framework=framework, aspect="precision", key=str(word.arg), value=str(default.value),
                    path=file.path, line=default.lineno, reach=f"default of `--{word.value.attr}`",
                    programs=(file.path,),
                )  # fmt: skip


def _last(callee: ast.expr) -> str:
    return callee.attr if isinstance(callee, ast.Attribute) else callee.id if isinstance(callee, ast.Name) else ""


def _tree(file: SourceFile) -> ast.Module:
    """The syntax tree of a file; an empty one where it cannot be parsed: the static analysis says so."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(file.data)
    except (SyntaxError, ValueError, RecursionError, SourceUnreadableError):
        return ast.Module(body=[], type_ignores=[])
