"""`verifygate check` stands before somebody's every commit: what it loads is what its answer takes."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import click
import pytest
from hypothesis import given
from hypothesis import strategies as st

from verifygate.check.options import CheckOptions, plain_options
from verifygate.commands.check import check
from verifygate.report.formats import check_formats

CLIPS = """from torch.amp import GradScaler
import torch

def train(model, optimizer, loader):
    scaler = GradScaler()
    for batch in loader:
        scaler.scale(model(batch)).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
"""
CHECK = """
import atexit, sys
atexit.register(lambda: print("loaded:", *sorted(sys.modules), file=sys.stderr))
sys.argv = ["verifygate", "check", *sys.argv[1:]]
from verifygate.cli import main
sys.exit(main())
"""
HEAVY = {"click", "pydantic", "pydantic_core", "yaml", "jinja2", "markdown_it", "rich", "libcst", "packaging", "torch"}
HEAVY |= {"pygls", "lsprotocol", "cattrs", "attr", "attrs"}
"""Distributions that other commands, other formats, or the audited project need."""
UNASKED = {"dataclasses", "inspect", "pkgutil", "tokenize", "difflib"}
"""What is only for other classes than records, and for rare sources and findings."""
STAGES = ("execution", "requirements", "performance", "merge", "mutation", "claims", "proof", "fix", "stages", "gate")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / ".git").mkdir()  # no configuration is looked for above
    (tmp_path / "train.py").write_text(CLIPS, encoding="utf-8")
    return tmp_path


def loaded(project: Path, *options: str) -> set[str]:
    """The modules that a check, which finds something, has loaded when it is done."""
    ended = subprocess.run(
        [sys.executable, "-c", CHECK, *options], cwd=project, capture_output=True, text=True, stdin=subprocess.DEVNULL
    )
    assert ended.returncode == 1, ended.stderr
    assert "AMP201" in ended.stdout
    return set(ended.stderr.splitlines()[-1].split()[1:])


def of_other_stages(modules: set[str]) -> list[str]:
    return sorted(name for name in modules if name.split(".")[:2] in [["verifygate", stage] for stage in STAGES])


@pytest.mark.parametrize("fmt", ["text", "github"])
def test_check_without_a_configuration_is_light(project: Path, fmt: str) -> None:
    """No model, no template, no parser but Python's own: only the rules and what they stand on."""
    found = loaded(project, "--format", fmt)
    assert not (HEAVY | UNASKED) & found
    assert not {"verifygate.config.settings", "verifygate.config.documents", "verifygate.model.stage_result"} & found
    assert of_other_stages(found) == []


def test_the_module_is_the_command(project: Path) -> None:
    """`python -m verifygate` answers as the script does, and loads no more."""
    command = [sys.executable, "-X", "importtime", "-m", "verifygate", "check", "--no-cache"]
    ended = subprocess.run(command, cwd=project, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    assert ended.returncode == 1, ended.stderr
    assert "AMP201" in ended.stdout
    found = {line.rpartition("|")[2].strip() for line in ended.stderr.splitlines()}
    assert "verifygate.check.run" in found
    assert not HEAVY & found


def test_a_requirement_of_torch_is_read_and_nothing_more(project: Path) -> None:
    """A file that names torch takes a parser of TOML, and no package to compare versions."""
    file = project / "pyproject.toml"
    file.write_text('[project]\ndependencies = ["numpy>=2"]\n', encoding="utf-8")
    assert not HEAVY & loaded(project)
    file.write_text('[project]\ndependencies = ["torch>=2.4"]\n', encoding="utf-8")
    assert not HEAVY & loaded(project)


def test_a_parser_of_yaml_is_loaded_for_a_file_that_names_a_precision(project: Path) -> None:
    """And for no other: most projects hold YAML and JSON that have no part in training."""
    (project / "rows.json").write_text('{"rows": [1, 2]}', encoding="utf-8")
    (project / "ci.yaml").write_text("steps: [build]\n", encoding="utf-8")
    assert not HEAVY & loaded(project)
    (project / "fit.yaml").write_text("trainer: {precision: 16-mixed}\n", encoding="utf-8")
    assert HEAVY & loaded(project) == {"yaml"}


def test_a_change_of_a_configuration_file_is_another_question(project: Path) -> None:
    """The kept answer was about the file as it stood."""
    file = project / "fit.yaml"
    file.write_text("trainer: {precision: 16-mixed}\n", encoding="utf-8")
    assert "verifygate.static.engine" in loaded(project)
    assert "verifygate.static.engine" not in loaded(project)
    file.write_text("trainer: {precision: bf16-mixed}\n", encoding="utf-8")
    assert "verifygate.static.engine" in loaded(project)


def test_a_configuration_loads_the_models_that_read_it(project: Path) -> None:
    """pydantic reads it; the models of results, and the readers of other files, have no part in that."""
    (project / "verifygate.toml").write_text('[static]\nignore = ["PERF"]\n', encoding="utf-8")
    found = loaded(project, "--no-cache")
    assert HEAVY & found == {"pydantic", "pydantic_core"}
    assert not {"verifygate.model.stage_result", "verifygate.model.report", "verifygate.process.subject"} & found
    assert of_other_stages(found) == []


def test_a_configuration_that_was_judged_before_loads_nothing(project: Path) -> None:
    """The next commit changes the code and not the configuration: nobody waits for pydantic again."""
    (project / "verifygate.toml").write_text('[static]\nignore = ["PERF"]\n', encoding="utf-8")
    assert "pydantic" in loaded(project)
    (project / "train.py").write_text(f"{CLIPS}# another line\n", encoding="utf-8")
    assert not HEAVY & loaded(project)


def test_an_answer_that_is_kept_loads_no_analysis(project: Path) -> None:
    """Nor what classes of many records are made with, which takes as long as Python takes to start."""
    assert "verifygate.static.engine" in loaded(project)
    again = loaded(project)
    assert not {"verifygate.static.engine", "verifygate.report.text", "dataclasses", "ast"} & again
    assert not HEAVY & again


WORDS = st.sampled_from(
    [
        "train.py", "a b", "", "-", "--", "-h", "--help", "--form", "AMP2,KEY101", *check_formats(),
        "--no-cache", "--timings", "--timings=1", "--format", "--format=", "--select", "--select=PERF",
        "--ignore", "--ignore=,", "--config", "--config=gate.toml",
    ]
)  # fmt: skip


def read_by_click(arguments: list[str]) -> CheckOptions | None:
    """The question as click reads it; None where it refuses the arguments, or answers with help."""
    read: list[CheckOptions] = []
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("verifygate.commands.check.run_check", lambda options: read.append(options) or 0)
        try:
            check.main(arguments, standalone_mode=False)
        except click.ClickException:
            return None
    return read[0] if read else None


@given(st.lists(WORDS, max_size=6))
def test_plain_arguments_mean_what_click_makes_of_them(arguments: list[str]) -> None:
    """Two readers of one command line, and never two answers."""
    options = plain_options(arguments)
    assert options is None or options == read_by_click(arguments)


def test_every_option_is_read_without_click() -> None:
    """What a hook may pass is plain, in both ways of writing it."""
    options = [option for option in check.params if isinstance(option, click.Option)]
    assert {"--format", "--select"} <= {name for option in options for name in option.opts}
    for option in options:
        (name,) = (each for each in option.opts if each.startswith("--"))
        value = {"--format": "json", "--jobs": "2"}.get(name, "AMP2")
        ways = [[name]] if option.is_flag else [[name, value], [f"{name}={value}"]]
        for way in ways:
            assert plain_options(way) is not None
            assert plain_options(way) == read_by_click(way) != CheckOptions()


@pytest.mark.parametrize(
    "arguments",
    [["--format"], ["--select", ","], ["--config", "--no-cache"], ["--format=xml"], ["--jobs", "two"], ["-h"]],
)
def test_what_is_not_plain_is_left_to_click(arguments: list[str]) -> None:
    """It says what is wrong, or helps."""
    assert plain_options(arguments) is None


def test_a_terminal_without_the_letters_gets_the_answer(project: Path) -> None:
    """A message may hold letters that an ASCII stream cannot: the answer and its exit code are the same."""
    (project / "ärger.py").write_text(CLIPS, encoding="utf-8")
    ended = subprocess.run(
        [sys.executable, "-c", CHECK, "--no-cache"],
        cwd=project,
        env={**os.environ, "PYTHONIOENCODING": "ascii"},
        capture_output=True,
        stdin=subprocess.DEVNULL,
    )
    assert ended.returncode == 1, ended.stderr
    assert "also: ärger.py:8" in ended.stdout.decode("utf-8")
