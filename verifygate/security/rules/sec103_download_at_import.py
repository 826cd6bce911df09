"""An import downloads something.

## Why is this bad
A statement at the top level of a module runs whenever anybody imports the module: a test, a worker of a data loader,
an editor. A download there makes all of these wait for a server, fail without a network, and work with what the
server gives on that day. In a job that must not reach the network it is also what an attacker's change would look
like.

## Impact
Every process that imports the module reaches the network, also those that never train.

## Example
```python
WEIGHTS = torch.hub.load_state_dict_from_url(ADDRESS)


def build(): ...
```
Use instead:
```python
def build():
    weights = torch.hub.load_state_dict_from_url(ADDRESS)
```

## What is looked at
Calls of known downloads outside of every function, in modules that another module of the tree imports. A script that
is run and not imported may download, and so may what stands below `if __name__ == "__main__"`.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from verifygate.model import Severity
from verifygate.security.rule import Hit, SecurityRule
from verifygate.security.rules.sec101_unsafe_checkpoint_load import DOWNLOADS
from verifygate.security.tree import AuditedTree, Call

RULE = SecurityRule(
    code="SEC103",
    name="download-at-import",
    severity=Severity.MEDIUM,
    summary="an import downloads something",
    remedy="move the download into the function that needs it",
)
_MORE = (
    *("torch.hub.load", "torch.hub.load_state_dict_from_url", "nltk.download", "datasets.load_dataset"),
    *("tensorflow_datasets.load", "kagglehub.dataset_download", "kagglehub.model_download", "clip.load"),
)


def check(tree: AuditedTree) -> Iterator[Hit]:
    for module in tree.modules:
        if module.file.path not in tree.imported:
            continue
        for call in module.calls:
            if isinstance(call.scope, ast.Module) and not call.guarded and _downloads(call):
                yield Hit(module.file.path, call.node.lineno, f"`{call.callee}` runs at every import of this module")


def _downloads(call: Call) -> bool:
    if call.callee in DOWNLOADS or call.callee in _MORE:
        return not _is_local(call)
    asked = call.argument("download")
    return call.callee.startswith("torchvision.datasets.") and isinstance(asked, ast.Constant) and asked.value is True


def _is_local(call: Call) -> bool:
    source = call.argument("source")
    return isinstance(source, ast.Constant) and source.value == "local"
