"""Nothing of the checkout is imported or started by the gate's own processes, wherever it is started from."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from hostile_checkout import MODULES, plant
from test_action import FAULTY, INPUTS, STEPS, Clone, gate, on_path
from workflow_steps import commit, git

from verifygate.cli import main

ROOT = Path(__file__).parent.parent
PROGRAMS = Path(sys.executable).parent
SCRIPT, MODULE = [str(PROGRAMS / "verifygate")], [sys.executable, "-I", "-m", "verifygate"]
HOOKS = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))
LATE = tuple({*MODULES} & {"json", "logging", "yaml", "jinja2", "click", "pydantic", "packaging", "multiprocessing"})
"""Modules that Python imports no sooner than the gate asks for them."""
COMMANDS = {
    "check": ("check", "--no-cache"),
    "check --since": ("check", "--since", "HEAD"),
    "run": ("run", "--stage", "static", "--stage", "security"),
    "doctor": ("doctor",),
    "fix": ("fix", "--diff"),
    "sweep": ("sweep", "list.txt", "--workers", "1", "--out", "swept"),
    "lsp": ("lsp",),
}
TOOL = """\
import os, shutil, subprocess, sys

def test_tool():
    assert subprocess.check_output(["say"]) == b"found\\n"
    assert shutil.which("python") == os.path.join(os.path.dirname(sys.executable), "python")
"""
SAYS = {"check": "AMP201", "run": "AMP201", "doctor": "interpreter", "fix": "scaler.unscale_", "sweep": "BLOCK"}


@pytest.fixture
def ran(tmp_path: Path) -> Path:
    return tmp_path / "ran"


@pytest.fixture
def checkout(tmp_path: Path, ran: Path) -> Path:
    folder = tmp_path / "checkout"
    folder.mkdir()
    git(folder, "init", "-q", "-b", "main")
    plant(folder, ran)
    commit(folder, {"train.py": FAULTY, "list.txt": "sub\n", "sub/train.py": FAULTY})
    return folder


def started(command: list[str], folder: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    inherited = {name: os.environ[name] for name in ("PATH", "HOME")}
    cache = {"VERIFYGATE_CACHE_DIR": str(folder.parent / "cache"), "PLANTED_TOKEN": "planted-7f3a"}
    return subprocess.run(
        command,
        cwd=folder,
        env={**inherited, **cache, **environment},
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
    )


def test_the_stand_ins_run_where_nothing_keeps_them_away(checkout: Path, ran: Path) -> None:
    """Python as the steps of a job usually start it: the tests below can fail."""
    started([sys.executable, "-c", "import json"], checkout)
    started([sys.executable, "-m", "venv"], checkout)
    started(["rm"], checkout, PATH="bin:/usr/bin")
    seen = {line.partition(" read ")[0] for line in ran.read_text(encoding="utf-8").splitlines()}
    assert {"json.py", "contextlib.py", "bin/rm"} <= seen
    assert "json.py read planted-7f3a" in ran.read_text(encoding="utf-8")


@pytest.mark.parametrize("name", COMMANDS)
@pytest.mark.parametrize("start", [SCRIPT, MODULE], ids=["script", "module"])
def test_a_command_imports_nothing_of_the_folder_it_is_started_in(
    start: list[str], name: str, checkout: Path, ran: Path
) -> None:
    ended = started([*start, *COMMANDS[name]], checkout)
    assert not ran.exists(), ran.read_text()
    assert ended.returncode in (0, 1), ended.stderr
    assert SAYS.get(name, "") in ended.stdout


@pytest.mark.parametrize(
    ("start", "path"),
    [([sys.executable, "-m", "verifygate"], ""), (SCRIPT, "."), (SCRIPT, "/usr/share:{folder}:"), (MODULE, ".")],
    ids=["plain -m", "relative PYTHONPATH", "absolute PYTHONPATH", "isolated"],
)
@pytest.mark.parametrize("name", ["run", "sweep"])
def test_what_is_imported_late_is_never_of_the_working_folder(
    start: list[str], path: str, name: str, tmp_path: Path, ran: Path
) -> None:
    """Also where Python was started without `-I`: the folder goes before anything else is imported."""
    folder = tmp_path / "late"
    folder.mkdir()
    plant(folder, ran, modules=LATE)
    (folder / "sub").mkdir()
    (folder / "sub/train.py").write_text(FAULTY, encoding="utf-8")
    (folder / "list.txt").write_text("sub\n", encoding="utf-8")
    environment = {"PYTHONPATH": path.format(folder=folder)} if path else {}
    ended = started([*start, *COMMANDS[name]], folder, **environment)
    assert not ran.exists(), ran.read_text()
    assert ended.returncode == 1, ended.stderr


@pytest.mark.parametrize("hook", HOOKS, ids=lambda hook: hook["id"])
def test_a_hook_of_pre_commit_imports_nothing_of_the_checkout(hook: dict[str, str], checkout: Path, ran: Path) -> None:
    """Its environment is first on the path, as pre-commit has it."""
    (checkout / "new.py").write_text(FAULTY, encoding="utf-8")
    git(checkout, "add", "new.py")
    ended = started([*hook["entry"].split(), "new.py"], checkout, PATH=f"{PROGRAMS}:bin:/usr/bin:/bin", PYTHONPATH=".")
    assert not ran.exists(), ran.read_text()
    assert (ended.returncode, "new.py:8" in ended.stdout) == (1, True), ended.stderr


@pytest.mark.parametrize("stages", ["static", "static security"])
def test_the_action_runs_nothing_of_a_hostile_checkout(stages: str, tmp_path: Path, ran: Path) -> None:
    """Its folder is on the path and on PYTHONPATH, and its names are shell: the token stays where it is."""
    clone = Clone(tmp_path)
    tokens = plant(clone.folder, ran)
    clone.change({"new.py": FAULTY})
    path = f"bin:.:{clone.folder}/bin:{on_path(tmp_path / 'outside', 'unused', '')}"
    runner = clone.runner("pull_request")
    runner = runner._replace(environment={**runner.environment, **tokens, "PATH": path, "PYTHONPATH": "."})
    ended = clone.act("pull_request", stages=stages, runner=runner)
    assert not ran.exists(), ran.read_text()
    assert not list(tmp_path.rglob("ran"))
    assert (ended.code, ended.outputs["verdict"]) == (1, "BLOCK"), ended.said
    assert "::error file=new.py,line=8" in ended.said
    assert "planted-7f3a" not in ended.said + ended.summary


@pytest.mark.slow
def test_the_action_installs_itself_beside_a_hostile_checkout(tmp_path: Path, ran: Path) -> None:
    """Every step, from nothing: neither its modules nor its settings of pip have a part in what is installed."""
    clone = Clone(tmp_path)
    tokens = plant(clone.folder, ran)
    clone.change({"new.py": FAULTY})
    runner = clone.runner("pull_request")
    path = f"bin:{clone.folder}/bin:{runner.environment.get('PATH', os.environ['PATH'])}"
    settings = {"PYTHONPATH": ".", "PIP_CONFIG_FILE": "pip.conf", "PIP_CONSTRAINT": "constraints.txt", "PATH": path}
    runner = runner._replace(environment={**runner.environment, **tokens, **settings})
    base = str(Path(sys.base_prefix) / "bin/python3")
    ended = runner.run(STEPS, inputs=INPUTS | {"python": base, "stages": "static security"})
    assert not ran.exists(), ran.read_text()
    assert (ended.code, ended.outputs["verdict"]) == (1, "BLOCK"), ended.said
    assert (clone.temp / "verifygate/bin/verifygate").is_file()
    assert (clone.temp / "project/bin/python").exists()


def test_an_interpreter_in_the_checkout_starts_no_gate(tmp_path: Path, ran: Path) -> None:
    clone = Clone(tmp_path)
    plant(clone.folder, ran)
    for named in ("bin/python", str(clone.folder / "bin/python")):
        ended = clone.act("schedule", inputs={"python": named})
        assert (ended.code, ended.outputs) == (2, {})
        assert "in it. Use actions/setup-python" in ended.said
    assert not ran.exists(), ran.read_text()


def test_the_written_workflow_runs_nothing_of_a_hostile_checkout(
    tmp_path: Path, ran: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clone = Clone(tmp_path)
    monkeypatch.chdir(clone.origin)
    assert main(["init", "--ci", "github"]) == 0
    clone.main = clone.head = commit(clone.origin, {}, "ci")
    git(clone.folder, "pull", "-q", "origin", "main")
    jobs = yaml.safe_load((clone.origin / ".github/workflows/verifygate.yml").read_text(encoding="utf-8"))["jobs"]
    plant(clone.folder, ran)
    monkeypatch.setenv("PYTHONPATH", ".")
    clone.change({"new.py": FAULTY})
    assert gate(clone, jobs).code == 1
    assert not ran.exists(), ran.read_text()


def test_the_projects_processes_find_their_programs(tmp_path: Path) -> None:
    """The gate looks for its own ones elsewhere; theirs are where they were, behind those of their environment."""
    tool = tmp_path / "tools/say"
    on_path(tool.parent, tool.name, "#!/bin/sh\necho found\n")
    (tmp_path / "test_tool.py").write_text(TOOL, encoding="utf-8")
    path = f"{tool.parent}:{os.environ['PATH']}"
    ended = started([*MODULE, "run", "--stage", "execution", "--isolation", "off"], tmp_path, PATH=path)
    assert "execution     PASS" in ended.stdout, ended.stdout + ended.stderr


def test_the_outputs_of_the_step_are_the_gates_alone(tmp_path: Path) -> None:
    """What a process of the tests appends meanwhile is gone; a link in place of the file is refused."""
    from verifygate.base.errors import UsageError
    from verifygate.commands.github_job import GithubJob
    from verifygate.merge import handed_in

    report = handed_in(ROOT / "reports/reference_impl/report.json")
    files = {name: tmp_path / name for name in ("GITHUB_OUTPUT", "GITHUB_STEP_SUMMARY")}
    for path in files.values():
        path.write_text("before=1\n", encoding="utf-8")
    environment = {name: str(path) for name, path in files.items()}
    job = GithubJob(environment)
    with files["GITHUB_OUTPUT"].open("a", encoding="utf-8") as file:
        file.write("verdict=PASS\nreport<<END\n")
    job.take(report, tmp_path / "a\nverdict=PASS", "# Summary\n")
    lines = files["GITHUB_OUTPUT"].read_text(encoding="utf-8").splitlines()
    verdict, end = report.verdict.value, lines[1].partition("<<")[2]
    assert lines[:4] == ["before=1", f"verdict<<{end}", verdict, end]
    assert lines[4].startswith("report<<")
    assert lines[5:7] == [f"{tmp_path}/a", "verdict=PASS"]
    assert files["GITHUB_STEP_SUMMARY"].read_text(encoding="utf-8") == "before=1\n# Summary\n"
    files["GITHUB_OUTPUT"].unlink()
    files["GITHUB_OUTPUT"].symlink_to(files["GITHUB_STEP_SUMMARY"])
    with pytest.raises(UsageError, match="GITHUB_OUTPUT names no file to write to"):
        GithubJob(environment)
