"""`verifygate doctor`: what a run needs, and whether it is there."""

from __future__ import annotations

import json
import os
from pathlib import Path

import click

from verifygate.commands.options import config_option, format_option


@click.command()
@config_option
@format_option
def doctor(config: Path | None, fmt: str) -> int:
    """Say what a run needs and whether it is there, each with a remedy; no code of the project runs.

    Exit code 0: a run can work. 1: it cannot. 2: bad input.
    """
    from verifygate.config.settings import load
    from verifygate.doctor import State, examined
    from verifygate.report.escape import LONG, plain

    answers = examined(load(config, Path.cwd()), os.environ)
    works = all(answer.state is not State.FAILED for answer in answers)
    if fmt == "json":
        rows = [answer._asdict() for answer in answers]
        click.echo(json.dumps({"schema_version": 1, "works": works, "answers": rows}, indent=1))
    else:
        for answer in answers:
            remedy = f" -> {plain(answer.remedy, LONG)}" if answer.remedy else ""
            click.echo(f"{answer.state:<7} {answer.name:<13} {plain(answer.text, LONG)}{remedy}")
    return 0 if works else 1
