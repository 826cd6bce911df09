"""The name by which the package index knows this project; the command and the package are both called `verifygate`."""

from __future__ import annotations

DISTRIBUTION = "verifygate-amp"
"""`verifygate` on the package index is another project. `pyproject.toml` states this name as well."""


def install(extra: str) -> str:
    """The command that installs an extra: `pip install 'verifygate-amp[sign]'`."""
    return f"pip install '{DISTRIBUTION}[{extra}]'"
