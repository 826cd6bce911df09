"""The configuration that `verifygate init` writes: what can be discovered, and the rest as comments to fill in."""

from __future__ import annotations

from pathlib import Path

from verifygate.config_file import CONFIG_NAME

_TEMPLATE = """\
# What verifygate audits; every key is explained by `verifygate docs config`.
[project]
name = "{name}"
sources = ["."]  # everything below, so that a new file is never out of sight
exclude = []

[execution]
pytest = [{tests}]  # arguments for pytest
# required = ["tests/test_train.py"]  # tests that must run and pass; a skipped one is NOT MEASURED

# [requirements]  # what the code must do, traced to evidence; see `verifygate docs requirements`
# spec = "requirements.yaml"  # two lines will do for a start: `title: {name}` and `extends: amp-core`

# [performance]
# workload = "package.module:build"  # build(precision, seed, device) -> an object with step() and evaluate()
# [performance.targets]
# speedup = 1.5
# memory_reduction = 0.4
# accuracy_difference = 0.01
"""


def starter(folder: Path) -> str:
    """The text of a configuration for the project in `folder`."""
    tests = [name for name in ("tests", "test") if (folder / name).is_dir()]
    return _TEMPLATE.format(
        name=folder.resolve().name.replace("\\", "").replace('"', ""),
        tests=", ".join(f'"{name}"' for name in tests),
    )


__all__ = ["CONFIG_NAME", "starter"]
