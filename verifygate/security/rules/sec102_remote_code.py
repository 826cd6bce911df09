"""Code is taken from a model hub and run, without a fixed revision.

## Why is this bad
`trust_remote_code=True` and `torch.hub.load("owner/repo", ...)` run Python files of a repository that others may
change at any time. Without a commit's full hash as the revision, tomorrow's run may run other code than today's.

## Impact
Whoever may push to that repository runs code with the rights of the training job.

## Example
```python
model = AutoModel.from_pretrained("owner/model", trust_remote_code=True)
```
Use instead:
```python
model = AutoModel.from_pretrained(
    "owner/model", trust_remote_code=True, revision="4f1b2c3d4e5f60718293a4b5c6d7e8f901234567"
)
```

## What is looked at
Calls with `trust_remote_code=True`, and `torch.hub.load` of a repository; `source="local"` and local folders are
fine. A branch or a tag can be moved and does not count as fixed. What a variable holds is not followed.

## References
- https://pytorch.org/docs/stable/hub.html
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from verifygate.model import Severity
from verifygate.security.rule import Hit, SecurityRule
from verifygate.security.tree import AuditedTree, Call

RULE = SecurityRule(
    code="SEC102",
    name="remote-code-without-revision",
    severity=Severity.MEDIUM,
    summary="code of a model hub is run without a fixed revision",
    remedy="name the full hash of a commit that you have read: `revision=`, or `owner/repo:hash` for torch.hub",
)


def check(tree: AuditedTree) -> Iterator[Hit]:
    for module in tree.modules:
        text = module.file.text
        if "trust_remote_code" not in text and "hub" not in text:
            continue
        for call in module.calls:
            if message := _of_hugging_face(call) or _of_torch_hub(call):
                yield Hit(module.file.path, call.node.lineno, message, symbol=call.symbol)


def _of_hugging_face(call: Call) -> str:
    trusted = call.argument("trust_remote_code")
    if not (isinstance(trusted, ast.Constant) and trusted.value is True) or call.unpacks:
        return ""
    revision = call.argument("revision")
    if revision is not None and not (isinstance(revision, ast.Constant) and not _is_hash(revision.value)):
        return ""
    first = call.node.args[0] if call.node.args else call.argument("pretrained_model_name_or_path")
    if isinstance(first, ast.Constant) and isinstance(first.value, str) and _is_local(first.value):
        return ""
    named = revision.value if isinstance(revision, ast.Constant) else None
    return f"runs code of the repository that it loads from{_at(named)}"


def _of_torch_hub(call: Call) -> str:
    if call.callee != "torch.hub.load":
        return ""
    source = call.argument("source")
    repository = call.argument("repo_or_dir", 0)
    if source is not None and not (isinstance(source, ast.Constant) and source.value == "github"):
        return ""
    if not (isinstance(repository, ast.Constant) and isinstance(repository.value, str)):
        return ""
    name, _, revision = repository.value.partition(":")
    if name.count("/") != 1 or _is_local(name) or _is_hash(revision):
        return ""
    return f"runs code of `{name}`{_at(revision)}"


def _at(revision: object) -> str:
    return f" at `{revision!s}`, which can be moved" if revision else ", whatever its newest state is"


def _is_hash(value: object) -> bool:
    return isinstance(value, str) and re.fullmatch(r"[0-9a-f]{40}", value) is not None


def _is_local(path: str) -> bool:
    return path.startswith(("/", "./", "../", "~"))
