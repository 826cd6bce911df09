"""AMP501: call torch.amp instead of torch.cuda.amp and torch.cpu.amp, arguments bound by the signatures of both."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import libcst as cst
from libcst import metadata

from verifygate.fix.amp_imports import Callee, plan_imports
from verifygate.fix.draft import CannotFixError, Draft
from verifygate.fix.tree import Change, Edits, Tree, dotted
from verifygate.model import Applicability, Finding
from verifygate.source import Sources

TOGETHER = True

_SCALER = ("init_scale", "growth_factor", "backoff_factor", "growth_interval", "enabled")
PARAMETERS = {
    "autocast": ("enabled", "dtype", "cache_enabled"),
    "GradScaler": _SCALER,
    "custom_fwd": ("fwd", "cast_inputs"),
    "custom_bwd": ("bwd",),
}
"""What the deprecated ones take, in order. The new ones know the same names, and the device besides."""

_MODULES = {"autocast": "autocast_mode", "GradScaler": "grad_scaler", "custom_fwd": "autocast_mode"}
DEPRECATED = {
    f"torch.{device}.amp.{inner}{name}": (name, device)
    for device in ("cuda", "cpu")
    for name in PARAMETERS
    for inner in ("", f"{_MODULES.get(name, 'autocast_mode')}.")
}
"""Qualified name -> the name in torch.amp, and the device type to give it."""

_CLASS_TEST = re.compile(
    rb"(?:isinstance|issubclass)\s*\([^()]*\bGradScaler|\bis\s+(?:\w+\.)*GradScaler|==\s*(?:\w+\.)*GradScaler"
)
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
        return DEPRECATED[self.qualified][0]

    @property
    def device(self) -> str:
        return DEPRECATED[self.qualified][1]


def draft(tree: Tree, findings: Sequence[Finding], sources: Sources) -> Draft:
    """Rewrite these uses, and the imports of names that no other use needs. Raises CannotFixError."""
    sites = [_site(tree, finding) for finding in findings]
    edits, lines = Edits(), [tree.lines(site.node) for site in sites]
    callees = [Callee(site.callee, site.qualified, site.name) for site in sites]
    written = plan_imports(tree, callees, sources, edits, lines)
    for site, callee in zip(sites, written, strict=True):
        edits.changes[site.node] = _rewritten(site, callee)
    tests = any(site.name == "GradScaler" for site in sites) and any(_CLASS_TEST.search(file.data) for file in sources)
    return tree.draft(edits, findings, lines, Applicability.UNSAFE if tests else Applicability.SAFE)


def _site(tree: Tree, finding: Finding) -> Site:
    for call in tree.at(finding, cst.Call):
        if name := _qualified(tree, call.func):
            _bindable(call, name)
            return Site(call, call.func, name, finding)
    for decorator in (*tree.at(finding, cst.Attribute), *tree.at(finding, cst.Name)):
        if isinstance(tree.parent(decorator), cst.Decorator) and (name := _qualified(tree, decorator)):
            if not DEPRECATED[name][0].startswith("custom_"):
                raise CannotFixError("without a call, the function is taken as `enabled`: it never ran under autocast")
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
    known = name.source is metadata.QualifiedNameSource.IMPORT and name.name in DEPRECATED
    return name.name if known else ""


def _bindable(call: cst.Call, qualified: str) -> None:
    """Refuse a call that the old signature does not take, or whose arguments can only be a mistake."""
    name, _ = DEPRECATED[qualified]
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
        raise CannotFixError(f"the first argument is taken as `{parameters[0]}`, which cannot be meant")


def _rewritten(site: Site, callee: cst.BaseExpression) -> Change:
    def change(node: cst.CSTNode) -> cst.CSTNode:
        if not isinstance(node, cst.Call) or site.node is site.callee:
            return cst.Call(callee, [_keyword("device_type", _text(site.device))])
        custom = site.name.startswith("custom_")
        arguments = list(node.args)
        if not (custom or any(argument.star == "*" for argument in arguments)):
            arguments = [_named(argument, PARAMETERS[site.name][at]) for at, argument in enumerate(arguments)]
        device = _keyword("device_type", _text(site.device)) if custom else cst.Arg(_text(site.device))
        place = sum(argument.keyword is None and not argument.star for argument in arguments) if custom else 0
        return _inserted(node.with_changes(func=callee, args=arguments), place, device)

    return change


def _text(device: str) -> cst.SimpleString:
    return cst.SimpleString(f'"{device}"')


def _keyword(name: str, value: cst.BaseExpression) -> cst.Arg:
    tight = cst.AssignEqual(cst.SimpleWhitespace(""), cst.SimpleWhitespace(""))
    return cst.Arg(value, keyword=cst.Name(name), equal=tight)


def _named(argument: cst.Arg, parameter: str) -> cst.Arg:
    if argument.keyword is not None or argument.star:
        return argument
    named = _keyword(parameter, argument.value)
    return argument.with_changes(keyword=named.keyword, equal=named.equal)


def _inserted(call: cst.Call, place: int, new: cst.Arg) -> cst.Call:
    """The call with one more argument, on a line of its own where the others have theirs."""
    arguments, space = list(call.args), call.whitespace_before_args
    if not arguments:
        return call.with_changes(args=[new])
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
