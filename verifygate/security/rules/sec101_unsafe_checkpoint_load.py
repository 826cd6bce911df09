"""A checkpoint is loaded by unpickling whatever the file holds.

## Why is this bad
`torch.load(path, weights_only=False)` unpickles the file, and a pickle may call any function. Whoever can write the
file can run code on the machine that trains, with its tokens and its data. Before torch 2.6 that was the default of
`torch.load`; of `torch.hub.load_state_dict_from_url` it still is. A file that was downloaded, or whose path comes
from the command line, is outside data. A checkpoint that the same program wrote is less so, and the finding is of low
severity.

## Impact
Code of somebody else's runs with the rights of the training job.

## Example
```python
path = hf_hub_download(repo, "model.pt")
state = torch.load(path, weights_only=False)
```
Use instead:
```python
path = hf_hub_download(repo, "model.pt")
state = torch.load(path, weights_only=True)
```

## What is looked at
Calls of `torch.load` that say `weights_only=False`, and those that leave it out in a project that allows a torch
before 2.6. Calls of `torch.hub.load_state_dict_from_url` that have neither `weights_only=True` nor `check_hash=True`.
If the project names no version of torch, the default is taken to be the safe one. *Certain* is only what is
downloaded in the same function and then unpickled.

## References
- https://pytorch.org/docs/stable/generated/torch.load.html
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from verifygate.config.version_pins import VersionRange
from verifygate.model import Severity
from verifygate.security.rule import Hit, SecurityRule
from verifygate.security.tree import AuditedTree, Call

RULE = SecurityRule(
    code="SEC101",
    name="unsafe-checkpoint-load",
    severity=Severity.MEDIUM,
    summary="a checkpoint is loaded by unpickling whatever the file holds",
    remedy="pass `weights_only=True`; allow what else the file needs with `torch.serialization.add_safe_globals`",
)
SAFE_BY_DEFAULT = "2.6"
DOWNLOADS = (
    *("huggingface_hub.hf_hub_download", "huggingface_hub.snapshot_download", "urllib.request.urlretrieve"),
    *("wget.download", "gdown.download", "torch.hub.download_url_to_file", "requests.get", "urllib.request.urlopen"),
    *("torchvision.datasets.utils.download_url", "huggingface_hub.cached_download", "httpx.get"),
)


def check(tree: AuditedTree) -> Iterator[Hit]:
    for module in tree.modules:
        if "load" not in module.file.text:
            continue
        calls = module.calls
        for call in calls:
            if call.callee == "torch.load":
                yield from _load(call, calls, tree.torch_for(module.file.path))
            elif call.callee == "torch.hub.load_state_dict_from_url" and not _is_checked(call):
                yield _hit(call, "unpickles what an address serves, and compares no hash", Severity.MEDIUM)


def _load(call: Call, calls: Sequence[Call], torch_version: str) -> Iterator[Hit]:
    given = call.argument("weights_only")
    if given is not None:
        if not _is(given, value=False):
            return
        how = "`weights_only=False`"
    elif call.unpacks or not torch_version or VersionRange.of(torch_version).begins_at(SAFE_BY_DEFAULT):
        return
    else:
        how = f"no `weights_only`, which is off by default before torch {SAFE_BY_DEFAULT} (allowed: {torch_version})"
    path = call.argument("f", 0)
    names = {node.id for node in ast.walk(path) if isinstance(node, ast.Name)} if path is not None else set()
    if (source := _download(call, calls, names)) is not None:
        message = f"{how}: unpickles what `{source.callee}` downloaded in line {source.node.lineno}"
        yield _hit(call, message, Severity.HIGH, certain=True)
    elif names & {"args", "opt", "opts", "cfg", "config", "hparams", "FLAGS"}:
        yield _hit(call, f"{how}: unpickles a file that the command line or a configuration names", Severity.MEDIUM)
    else:
        yield _hit(call, f"{how}: unpickles whatever the file holds", Severity.LOW)


def _download(call: Call, calls: Sequence[Call], names: set[str]) -> Call | None:
    """The download in the same function whose result, or whose target, is what is loaded."""
    for other in calls:
        if other.scope is not call.scope or other.callee not in DOWNLOADS or other.node.lineno > call.node.lineno:
            continue
        if other.node in ast.walk(call.node) or names & _bound_by(other, call.scope):
            return other
    return None


def _bound_by(download: Call, scope: ast.AST) -> set[str]:
    """The names that a download's result is assigned to, or that name its target."""
    bound = {arg.id for arg in download.node.args[1:] if isinstance(arg, ast.Name)}
    for node in ast.walk(scope):
        if isinstance(node, ast.Assign) and download.node in ast.walk(node.value):
            bound |= {target.id for target in node.targets if isinstance(target, ast.Name)}
    return bound


def _is_checked(call: Call) -> bool:
    given = (call.argument("weights_only"), call.argument("check_hash", 4))
    return call.unpacks or any(each is not None and not _is(each, value=False) for each in given)


def _is(node: ast.expr, *, value: bool) -> bool:
    return isinstance(node, ast.Constant) and node.value is value


def _hit(call: Call, message: str, severity: Severity, *, certain: bool = False) -> Hit:
    return Hit(call.module.file.path, call.node.lineno, message, certain, severity, call.symbol)
