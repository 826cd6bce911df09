"""`verifygate init`: write a configuration with what can be discovered, and the rest as comments to fill in."""

from __future__ import annotations

import json
from pathlib import Path

import click

from verifygate.config.locate import CONFIG_NAME

SCHEMA = ".verifygate/config.schema.json"
"""Where the schema lies in a project, for editors. No web address can be named: it belongs to the installed version."""
_TEMPLATE = """\
#:schema {schema}
# Configuration of verifygate; `verifygate docs config` explains every key.
[project]
name = {name}
sources = ["."]  # everything below this folder, so that new files are included
exclude = []

[execution]
pytest = [{tests}]  # arguments for pytest
# required = ["tests/test_train.py"]  # tests that must run and pass; a skipped one is NOT MEASURED

# [requirements]  # what the code must do, traced to evidence; see `verifygate docs requirements`
# spec = "requirements.yaml"  # to start with, two lines: `title: {name}` and `extends: amp-core`

# [performance]
# workload = "package.module:build"  # build(precision, seed, device) -> an object with step() and evaluate()
# [performance.targets]
# speedup = 1.5
# memory_reduction = 0.4
# accuracy_difference = 0.01
"""


@click.command()
@click.option("--force", is_flag=True, help="Overwrite an existing configuration.")
def init(force: bool) -> int:
    """Write a verifygate.toml for the project in this folder, with what can be discovered."""
    from verifygate.base.errors import UsageError

    path = Path.cwd() / CONFIG_NAME
    if path.exists() and not force:
        raise UsageError("the file already exists", where=CONFIG_NAME, remedy="edit it, or replace it with --force")
    try:
        _write_schema(Path.cwd() / SCHEMA)
        path.write_text(starter(Path.cwd()), encoding="utf-8")
    except OSError as error:
        problem = f"cannot be written: {error.strerror}"
        raise UsageError(problem, where=CONFIG_NAME, remedy="run it in a folder that you can write to") from None
    click.echo(f"Wrote {CONFIG_NAME}; next: verifygate run --stage all")
    return 0


def starter(folder: Path) -> str:
    """The text of a configuration for the project in `folder`."""
    tests = [name for name in ("tests", "test") if (folder / name).is_dir()]
    return _TEMPLATE.format(
        schema=SCHEMA,
        name=json.dumps(folder.resolve().name.encode("utf-8", "replace").decode()),  # TOML and YAML read it as well
        tests=", ".join(f'"{name}"' for name in tests),
    )


def _write_schema(path: Path) -> None:
    """Put the schema of the configuration where the configuration's first line says that it is."""
    import verifygate

    path.parent.mkdir(exist_ok=True)
    shipped = Path(verifygate.__file__).parent / "docs" / "schemas" / path.name
    path.write_bytes(shipped.read_bytes())
