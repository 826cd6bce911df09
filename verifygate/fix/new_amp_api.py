"""AMP501: call torch.amp instead of torch.cuda.amp and torch.cpu.amp, arguments bound by the signatures of both."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import libcst as cst
from libcst import metadata

from verifygate.fix.amp_imports import Callee, plan_imports, torch_name
from verifygate.fix.call_arguments import keyword, with_keyword
from verifygate.fix.concrete_tree import Change, Edits, Tree, dotted, root_name
from verifygate.fix.draft import CannotFixError, Draft, Project
from verifygate.fix.scaler_calls import calls_of
from verifygate.model import Applicability, Finding
from verifygate.sources.tree import Sources
from verifygate.torch_names import DEPRECATED, DEPRECATED_STATE, SINCE, STATE_SINCE

TOGETHER = True

_SCALER = ("init_scale", "growth_factor", "backoff_factor", "growth_interval", "enabled")
PARAMETERS = {
    "autocast": ("enabled", "dtype", "cache_enabled"),
    "GradScaler": _SCALER,
    "custom_fwd": ("fwd", "cast_inputs"),
    "custom_bwd": ("bwd",),
}
"""What the deprecated ones take, in order. The new ones know the same names, and the device besides."""

_CLASS_TEST = re.compile(
    rb"(?:isinstance|issubclass)\s*\((?:[^()]|\([^()]*\))*?(?:\([^()]*)?\bGradScaler\b(?!\s*\()"
    rb"|(?:\bis(?:\s+not)?|[=!]=|\bcase)\s+(?:\w+\.)*GradScaler\b"
    rb"|(?:=|\bin)\s*[(\[{](?:[^()\[\]{}]*,)?\s*(?:\w+\.)*GradScaler\s*[,)\]}]"
)
"""Where the class itself is asked for, or stands in a tuple that may be asked for."""

_INHERITED = {
    device: re.compile(
        rb"\bset_autocast_(?:gpu_|cpu_)?dtype\s*\("
        rb"|autocast\s*\((?:[^()]|\([^()]*\))*?\b(?:dtype\s*=\s*(?!(?:\w+\.)*" + own + rb"\b)|torch\." + other + rb"\b)"
    )
    for device, own, other in (("cuda", b"float16", b"bfloat16"), ("cpu", b"bfloat16", b"float16"))
}
"""Where a region of the device gets another dtype than the deprecated autocast's own."""

_OWN_DTYPE = {"cuda": "float16", "cpu": "bfloat16"}
_NO_FLAG = re.compile(r"""^(?:[rbu]?["'].*|(?:\w+\.)*(?:float16|bfloat16|float32|half|float))$""", re.DOTALL)


@dataclass(frozen=True)
class Site:
    """One use to rewrite: a call, or a decorator without a call."""

    node: cst.BaseExpression
    callee: cst.BaseExpression
    qualified: str
    finding: Finding

    @property
    def name(self) -> str:
        return DEPRECATED[self.qualified][0].removeprefix("torch.amp.")

    @property
    def device(self) -> str:
        return DEPRECATED[self.qualified][1]


def draft(tree: Tree, findings: Sequence[Finding], project: Project) -> Draft:
    """Rewrite these uses, and the imports of names that no other use needs. Raises CannotFixError."""
    found = [_site(tree, finding) for finding in findings]
    for site in found:
        _is_there(site, tree.path, project)
    edits, lines = Edits(), [tree.lines(site.node) for site in found]
    edits.changes |= {
        site.node: _asked_by_device(site, _quote(tree, site)) for site in found if site.qualified in DEPRECATED_STATE
    }
    sites = [site for site in found if site.qualified in DEPRECATED]
    callees = [Callee(site.callee, site.qualified, site.name) for site in sites]
    written = plan_imports(tree, callees, project.sources, edits, lines)
    unsure = False
    for site, callee in zip(sites, written, strict=True):
        dtype: cst.BaseExpression | None = None
        if _inherits(site, project.sources) and not _is_outermost(tree, site):
            unsure = unsure or _may_hold_dtype(site)
            dtype = None if _may_hold_dtype(site) else _own_dtype(tree, site, edits, lines)
        edits.changes[site.node] = _rewritten(site, callee, _quote(tree, site), dtype)
    tests = any(site.name == "GradScaler" for site in sites) and _says(project.sources, _CLASS_TEST, b"GradScaler")
    return tree.draft(edits, findings, lines, Applicability.UNSAFE if tests or unsure else Applicability.SAFE)


def _is_there(site: Site, path: str, project: Project) -> None:
    """Refuse a name that a torch which the project allows does not have."""
    new = (DEPRECATED | DEPRECATED_STATE)[site.qualified][0]
    since = SINCE.get(new, STATE_SINCE)
    torch = project.torch_for(path)
    if not torch.lies_above(since):
        call = f"{new}(device, ...)" if site.qualified in DEPRECATED_STATE else new
        raise CannotFixError(f"`{call}` is there since torch {since}, and the project allows torch {torch}")


def _site(tree: Tree, finding: Finding) -> Site:
    for call in tree.at(finding, cst.Call):
        if name := _qualified(tree, call.func):
            (_bindable_state if name in DEPRECATED_STATE else _bindable)(call, name)
            return Site(call, call.func, name, finding)
    for decorator in (*tree.at(finding, cst.Attribute), *tree.at(finding, cst.Name)):
        name = _qualified(tree, decorator) if isinstance(tree.parent(decorator), cst.Decorator) else ""
        if name in DEPRECATED:
            if not name.rpartition(".")[2].startswith("custom_"):
                raise CannotFixError("without a call, the function is passed as `enabled`: it never ran under autocast")
            return Site(decorator, decorator, name, finding)
    raise CannotFixError("the name comes from an assignment, a condition or another file")


def _qualified(tree: Tree, callee: cst.BaseExpression) -> str:
    """The deprecated name that a dotted expression surely means: imported, and bound in one way only."""
    parts, scope = dotted(callee), tree.scope(callee)
    if not parts or scope is None:
        return ""
    names = scope.get_qualified_names_for(callee)
    if len(names) != 1:
        return ""
    (name,) = names
    known = name.source is metadata.QualifiedNameSource.IMPORT and name.name in DEPRECATED | DEPRECATED_STATE
    return name.name if known else ""


def _bindable(call: cst.Call, qualified: str) -> None:
    """Refuse a call that the old signature does not take, or whose arguments can only be a mistake."""
    name = qualified.rpartition(".")[2]
    parameters = PARAMETERS[name]
    positional = [argument for argument in call.args if argument.keyword is None and not argument.star]
    keywords = [argument.keyword.value for argument in call.args if argument.keyword is not None]
    if any(argument.star == "*" for argument in call.args) and name != "GradScaler":
        raise CannotFixError(f"`*` arguments of `{name}` cannot be bound to its parameters")
    if len(positional) > len(parameters) or not set(keywords) <= set(parameters):
        raise CannotFixError(f"`{qualified}` does not take these arguments")
    if (
        positional
        and not name.startswith("custom_")
        and _NO_FLAG.match(cst.Module([]).code_for_node(positional[0].value))
    ):
        raise CannotFixError(f"the first argument is taken as `{parameters[0]}`, which is not what the call intends")


def _bindable_state(call: cst.Call, qualified: str) -> None:
    """Refuse a call that raises, and a name of its own: the import of it would be left behind."""
    takes = 1 if qualified.startswith("torch.set_") else 0
    if len(call.args) != takes or any(argument.keyword is not None or argument.star for argument in call.args):
        raise CannotFixError(f"`{qualified}` does not take these arguments")
    if not isinstance(call.func, cst.Attribute):
        raise CannotFixError(f"import torch and call `{DEPRECATED_STATE[qualified][0]}` here")


def _inherits(site: Site, sources: Sources) -> bool:
    """Whether the new autocast may take another dtype: without one it keeps that of the region around it."""
    if site.name != "autocast" or not isinstance(site.node, cst.Call):
        return False
    for at, argument in enumerate(site.node.args):
        named = argument.keyword.value if argument.keyword is not None else PARAMETERS["autocast"][at]
        if not argument.star and named == "dtype":
            return False
        if not argument.star and named == "enabled" and argument.value.deep_equals(cst.Name("False")):
            return False
    return _says(sources, _INHERITED[site.device], b"autocast")


@lru_cache(maxsize=4)
def _says(sources: Sources, pattern: re.Pattern[bytes], word: bytes) -> bool:
    """Whether any file has what a pattern, with a word in it, looks for: asked for each use, of the same files."""
    return any(word in file.data and pattern.search(file.data) for file in sources)


def _is_outermost(tree: Tree, site: Site) -> bool:
    """Whether no region is around: what makes the backward itself is not called in one, and none is written here."""
    inner: cst.CSTNode = site.node
    for here in tree.above(site.node):
        if isinstance(here, cst.With) and here.body is inner and "autocast" in " ".join(map(tree.text, here.items)):
            return False
        inner = here
    return bool(calls_of(tree, tree.function(site.node), "backward"))


def _may_hold_dtype(site: Site) -> bool:
    return isinstance(site.node, cst.Call) and any(argument.star for argument in site.node.args)


def _own_dtype(tree: Tree, site: Site, edits: Edits, lines: list[tuple[int, int]]) -> cst.BaseExpression:
    """`torch.float16`, which the deprecated autocast takes wherever it stands."""
    root = root_name(site.callee)
    assert root is not None  # noqa: S101 - a callee is a dotted name
    name = torch_name(tree, root, edits, lines)
    return cst.Attribute(cst.Name(name), cst.Name(_OWN_DTYPE[site.device]))


def _quote(tree: Tree, site: Site) -> str:
    """The quotes of the device: those that no f-string around it uses."""
    around = [here for here in tree.above(site.node) if isinstance(here, cst.FormattedString)]
    return "'" if any('"' in each.start for each in around) else '"'


def _rewritten(site: Site, callee: cst.BaseExpression, quote: str, dtype: cst.BaseExpression | None) -> Change:
    text = cst.SimpleString(f"{quote}{site.device}{quote}")

    def change(node: cst.CSTNode) -> cst.CSTNode:
        if not isinstance(node, cst.Call) or site.node is site.callee:
            return cst.Call(callee, [keyword("device_type", text)])
        custom = site.name.startswith("custom_")
        arguments = list(node.args)
        if not (custom or any(argument.star == "*" for argument in arguments)):
            arguments = [_named(argument, PARAMETERS[site.name][at]) for at, argument in enumerate(arguments)]
        device = keyword("device_type", text) if custom else cst.Arg(text)
        place = sum(argument.keyword is None and not argument.star for argument in arguments) if custom else 0
        made = _inserted(node.with_changes(func=callee, args=arguments), place, device)
        return with_keyword("dtype", dtype)(made) if dtype is not None else made

    return change


def _asked_by_device(site: Site, quote: str) -> Change:
    new, device = DEPRECATED_STATE[site.qualified]

    def change(node: cst.CSTNode) -> cst.CSTNode:
        assert isinstance(node, cst.Call)  # noqa: S101
        assert isinstance(node.func, cst.Attribute)  # noqa: S101 - both looked at in _site
        call = node.with_changes(func=node.func.with_changes(attr=cst.Name(new.removeprefix("torch."))))
        return _inserted(call, 0, cst.Arg(cst.SimpleString(f"{quote}{device}{quote}")))

    return change


def _named(argument: cst.Arg, parameter: str) -> cst.Arg:
    if argument.keyword is not None or argument.star:
        return argument
    named = keyword(parameter, argument.value)
    return argument.with_changes(keyword=named.keyword, equal=named.equal)


def _inserted(call: cst.Call, place: int, new: cst.Arg) -> cst.Call:
    """The call with one more argument, on a line of its own where the others have theirs."""
    arguments, space = list(call.args), call.whitespace_before_args
    if not arguments:  # comments between the parentheses stay there, behind it
        after = space if isinstance(space, cst.ParenthesizedWhitespace) else cst.SimpleWhitespace("")
        alone = new.with_changes(whitespace_after_arg=after)
        return call.with_changes(args=[alone], whitespace_before_args=cst.SimpleWhitespace(""))
    gap: cst.BaseParenthesizableWhitespace = cst.SimpleWhitespace(" ")
    if isinstance(space, cst.ParenthesizedWhitespace):
        if place == 0:  # comments above the first argument stay above it
            gap = space.with_changes(first_line=cst.TrailingWhitespace())
            call = call.with_changes(whitespace_before_args=space.with_changes(empty_lines=[]))
        else:
            gap = cst.ParenthesizedWhitespace(indent=True, last_line=space.last_line)
    if place < len(arguments):
        arguments.insert(place, new.with_changes(comma=cst.Comma(whitespace_after=gap)))
    else:
        last = arguments[-1]
        arguments[-1] = last.with_changes(comma=cst.Comma(whitespace_after=gap))
        arguments.append(new.with_changes(comma=last.comma))
    return call.with_changes(args=arguments)
