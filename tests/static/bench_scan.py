"""What a static scan costs beside a plain `ast.parse` of the same files: verifygate, linters and type checkers.

    python tests/static/bench_scan.py FOLDER... [--rounds N] [--limit SECONDS] [--without TOOL]... [--ruff PATH]
        [--pyrefly PATH] [--ty PATH] [--torchfix PATH] [--semgrep PATH]

Of the last five, those that are installed run; ruff runs all its rules, without its cache. ruff, pyrefly and ty run on
one core. `--without` leaves out each row whose name begins so: `--without TorchFix --without semgrep`.

Trees to give it: nanoGPT, yolov5, pytorch-image-models and transformers; and those that are full of mixed precision:
diffusers, icefall, Megatron-LM, NeMo, mmengine, mmdetection, MONAI and ultralytics. Half of icefall's files are
symbolic links, and one file there is no Python, which each tool says in its way: an exit status of 2 is an answer.

Each tool runs as a new process and in turns with the others, one run of each a round. What is printed is a Markdown
table of ratios to the `ast.parse` of the same round: CPU seconds (user and system, with all that the process waited
for) and peak memory (of its largest process). The exit status is 1 if `ast.parse` or `check` gave no answer, if a file
is missing from what `check` accounts for, or if a `check` as text took more memory than it may (`--memory`).
"""

from __future__ import annotations

import argparse
import compileall
import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import verifygate
from verifygate.sources.discovery import PYTHON_SUFFIXES, read_sources, walk

# Linux counts what a process was before its exec into its peak memory, so tools are started by an interpreter that is
# smaller than any of them, which starts one and waits, and not by this one.
LAUNCH = """
import os, signal, sys
figures, limit, out, err, *command = sys.argv[1:]
tool = os.fork()
if not tool:
    os.setsid()
    for stream, path in ((1, out), (2, err)):
        os.dup2(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), stream)
    try:
        os.execv(command[0], command)
    except OSError as error:
        os.write(2, str(error).encode())
        os._exit(127)
over = 0
def stop(*_):
    global over
    over = 1
    os.killpg(tool, signal.SIGKILL)
signal.signal(signal.SIGALRM, stop)
signal.alarm(int(limit))
_, status, used = os.wait4(tool, 0)
signal.alarm(0)
with open(figures, "w") as file:
    print(over, os.waitstatus_to_exitcode(status), used.ru_utime + used.ru_stime, used.ru_maxrss, file=file)
"""

PARSE = """
import ast, os, sys
failed = 0
with open(sys.argv[1], "rb") as names:
    files = names.read().split(b"\\0")
for name in files:
    try:
        with open(name, "rb") as file:
            ast.parse(file.read())
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        failed += 1
print(len(files) - failed)
"""

SEMGREP_RULES = """
rules:
  - id: clip-before-unscale
    languages: [python]
    severity: ERROR
    message: clips gradients that are still multiplied by the loss scale
    patterns:
      - pattern: |
          $SCALER.scale($LOSS).backward()
          ...
          torch.nn.utils.clip_grad_norm_(...)
          ...
          $SCALER.step($OPTIMIZER)
      - pattern-not: |
          $SCALER.scale($LOSS).backward()
          ...
          $SCALER.unscale_($OPTIMIZER)
          ...
          torch.nn.utils.clip_grad_norm_(...)
          ...
          $SCALER.step($OPTIMIZER)
  - id: old-scaler
    languages: [python]
    severity: WARNING
    message: the interface before torch 2.3
    pattern: torch.cuda.amp.GradScaler(...)
"""

KIB = 1 if sys.platform != "darwin" else 1024
"""How many of the system's units of memory make a KiB."""

Count = Callable[[str, str], tuple[int, int]]
"""Standard output and error of a run, and how many files it analysed and how many it says it did not; -1: unsaid."""


@dataclass(frozen=True)
class Run:
    """One run of one tool: why there is no answer, if so, CPU seconds, and peak memory in the system's unit."""

    wrong: str
    cpu: float
    memory: int
    out: str
    err: str


@dataclass
class Tool:
    name: str
    version: str
    command: Callable[[Path], list[str]]
    count: Count
    first: bool = False
    """Whether a run that is not measured comes first: what it leaves behind is what is measured."""
    runs: list[Run] = field(default_factory=list)


def launch(command: Sequence[str], limit: int, folder: Path) -> Run:
    """Run a command in `folder`, for `limit` seconds of wall-clock time at the most."""
    figures, out, err = (folder / name for name in ("figures", "out", "err"))
    surroundings = {
        **os.environ,
        "HOME": str(folder),
        "VERIFYGATE_CACHE_DIR": str(folder / "answers"),
        "SEMGREP_SETTINGS_FILE": str(folder / "semgrep.yml"),
        "RAYON_NUM_THREADS": "1",
        "TY_MAX_PARALLELISM": "1",
    }
    launcher = [sys.executable, "-I", "-S", "-c", LAUNCH, str(figures), str(limit), str(out), str(err)]
    subprocess.run([*launcher, *command], cwd=folder, env=surroundings, check=True)
    over, status, cpu, memory = figures.read_text().split()
    wrong = (
        f"over limit ({limit} s)" if over == "1" else f"failed (exit {status})" if int(status) not in (0, 1, 2) else ""
    )
    texts = (path.read_text(encoding="utf-8", errors="replace") for path in (out, err))
    return Run(wrong, float(cpu), int(memory), *texts)


def parsed(out: str, err: str) -> tuple[int, int]:
    return int(out), -1


def told(out: str, err: str) -> tuple[int, int]:
    """The last line of the text: `3 findings (...) in 15 files; 1 file not analysed`."""
    last = out.strip().splitlines()[-1]
    lost = re.search(r"(\d+) files? not analysed", last)
    return int(re.findall(r" in (\d+) files?\b", last)[0]), int(lost[1]) if lost else 0


def checked(out: str, err: str) -> tuple[int, int]:
    report = json.loads(out)
    return report["files_checked"], len(report["not_analysed"])


def fixed(out: str, err: str) -> tuple[int, int]:
    """TorchFix counts the files with the word `torch`, and says nothing where there are none."""
    said = re.search(r"Finished checking (\d+) files", err)
    return (int(said[1]) if said else 0), -1


def grepped(out: str, err: str) -> tuple[int, int]:
    return len(json.loads(out)["paths"]["scanned"]), -1


def linted(out: str, err: str) -> tuple[int, int]:
    """These do not say how many files they checked, unless they are made to say much more, which costs."""
    return -1, -1


def inferred(out: str, err: str) -> tuple[int, int]:
    """pyrefly says how many errors there are at the end, and nothing of the kind where it gave up: both exit with 1."""
    if not re.search(r"INFO [\d,]+ errors?", out + err):
        raise ValueError("no answer")
    return -1, -1


EXECUTABLES = ("ruff", "pyrefly", "ty", "torchfix", "semgrep")
"""What is measured beside `check`, where it is installed."""


def tools(temporary: Path, given: Mapping[str, str | None]) -> tuple[list[Tool], list[str]]:
    """The tools that are installed, `ast.parse` first, and the names of those that are not.

    `given` has the executables that are not to be looked for on PATH.
    """
    rules, names = temporary / "rules.yml", temporary / "names"
    rules.write_text(SEMGREP_RULES, encoding="utf-8")
    check = shutil.which("verifygate", path=Path(sys.executable).parent)
    if check is None:
        sys.exit("verifygate is not installed beside this Python: run `make setup`, then .venv/bin/python")
    compileall.compile_dir(Path(verifygate.__file__).parent, quiet=2)  # as pip leaves a package that it installs
    version = verifygate.__version__
    interpreter = [sys.executable, "-I", "-W", "ignore", "-c", PARSE, str(names)]
    offline = ["--metrics", "off", "--disable-version-check", "--no-git-ignore", "--x-ignore-semgrepignore-files"]
    found = [
        Tool("ast.parse", "Python " + sys.version.split()[0], lambda _: interpreter, parsed),
        Tool("verifygate check", version, lambda tree: [check, "check", str(tree), "--no-cache"], told),
        Tool(
            "verifygate check, with the fixes that can be made (JSON)",
            version,
            lambda tree: [check, "check", str(tree), "--format", "json", "--no-cache"],
            checked,
        ),
        Tool("verifygate check, nothing changed", version, lambda tree: [check, "check", str(tree)], told, first=True),
    ]
    missing = []
    lint = ["check", "--isolated", "--no-cache", "--no-respect-gitignore", "--select", "ALL", "--statistics"]
    infer = ["check", "--threads", "1", "--progress-bar", "no", "--output-format", "omit-errors"]
    check_types = ["check", "--no-progress", "--output-format", "concise"]
    for name, executable, command, count in (
        ("ruff, all rules", "ruff", lambda tree, path: [path, *lint, str(tree)], linted),
        ("pyrefly", "pyrefly", lambda tree, path: [path, *infer, str(tree)], inferred),
        ("ty", "ty", lambda tree, path: [path, *check_types, str(tree)], linted),
        ("TorchFix", "torchfix", lambda tree, path: [path, str(tree)], fixed),
        (
            "semgrep, two rules",
            "semgrep",
            lambda tree, path: [path, "scan", "--config", str(rules), *offline, "--include=*.py", "--json", str(tree)],
            grepped,
        ),
    ):
        path = shutil.which(given.get(executable) or executable)
        if path is None:
            missing.append(name.split(",")[0])
            continue
        path = str(Path(path).absolute())
        asked = launch([path, "--version", *(["--disable-version-check"] if count is grepped else [])], 60, temporary)
        version = asked.out.strip().splitlines()[-1] if asked.out.strip() else "version not told"
        found.append(Tool(name, version, lambda tree, path=path, command=command: command(tree, path), count))
    return found, missing


def beside_python(tree: Path) -> int:
    """How many files `check` accounts for that are no Python text: notebooks, which `ast.parse` cannot read."""
    read = read_sources(tree, ["."])
    paths = [*(file.path for file in read), *(path for path, _ in read.unreadable)]
    return sum(not path.endswith(PYTHON_SUFFIXES) for path in paths)


def measure(
    tree: Path, temporary: Path, found: list[Tool], rounds: int, limit: int, most: int
) -> tuple[list[str], list[str]]:
    """The rows of the table for one tree, and what does not add up."""
    files = list(walk(tree))
    if not files:
        sys.exit(f"{tree}: no Python files; name a folder with some")
    for file in files:  # from here on no tool is the one that waits for the disk
        file.read_bytes()
    beside = beside_python(tree)
    (temporary / "names").write_bytes(b"\0".join(os.fsencode(file) for file in files))
    for tool in found:
        tool.runs = []
    for tool in found:
        if tool.first:
            launch(tool.command(tree), limit, temporary)
    for _ in range(rounds):
        for tool in found:
            if not (tool.runs and tool.runs[-1].wrong):
                tool.runs.append(launch(tool.command(tree), limit, temporary))
    rows, wrong = [], []
    for tool in found:
        more = beside if tool.count in (told, checked) else 0
        cells, complaint = row(tool, found[0], len(files) + more)
        rows.append("| " + " | ".join([tree.name, str(len(files)), tool.name, *cells]) + " |")
        if complaint and tool.count in (parsed, told, checked):
            wrong.append(f"{tree.name}: {tool.name}: {complaint}")
    check = next((tool for tool in found if tool.name == "verifygate check"), None)
    taken = max(run.memory for run in check.runs) / KIB / 1024 if check is not None else 0
    if check is not None and taken > most:
        wrong.append(f"{tree.name}: {check.name}: {taken:.0f} MiB of memory, and {most} are the most")
    total = sum(path.is_file() for path in tree.rglob("*.py"))
    if total != len(files):
        wrong_folders = f"{tree.name}: {total - len(files)} more files lie in folders that `check` skips by default"
        print(wrong_folders, file=sys.stderr)
    return rows, wrong


def row(tool: Tool, base: Tool, files: int) -> tuple[list[str], str]:
    """Files analysed and not, ratios of CPU (least, median) and of memory; and what does not add up."""
    reason = tool.runs[-1].wrong or base.runs[-1].wrong
    if not reason:
        try:
            done, lost = tool.count(tool.runs[-1].out, tool.runs[-1].err)
        except (ValueError, KeyError, IndexError):
            reason = "failed (no answer)"
    if reason:
        return ["", "", reason, "", ""], reason
    pairs = list(zip(tool.runs, base.runs, strict=True))
    cpu = [one.cpu / plain.cpu for one, plain in pairs]
    memory = statistics.median(one.memory / plain.memory for one, plain in pairs)
    complaint = "" if lost < 0 or done + lost == files else f"{files} files, {done} checked and {lost} not analysed"
    lost = files - done if lost < 0 else lost
    accounted = [str(done), str(lost)] if done >= 0 else ["unsaid", "unsaid"]
    ratios = [f"{number:.1f}" for number in (min(cpu), statistics.median(cpu), memory)]
    return [*accounted, *ratios], complaint


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="+", type=Path, metavar="FOLDER")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--limit", type=int, default=300, help="seconds of wall-clock time for one run")
    parser.add_argument("--memory", type=int, default=200, help="MiB that a check may take, for any tree")
    parser.add_argument("--without", action="append", default=[], metavar="TOOL", help="leave out what begins so")
    for name in EXECUTABLES:
        parser.add_argument(f"--{name}", help="the executable; found on PATH by default")
    given = parser.parse_args()
    if given.rounds < 1 or given.limit < 1:
        parser.error("--rounds and --limit are at least 1")
    for folder in given.folders:
        if not folder.is_dir():
            parser.error(f"{folder}: no such folder")
    wrong: list[str] = []
    with tempfile.TemporaryDirectory() as name:
        found, missing = tools(Path(name), {each: getattr(given, each) for each in EXECUTABLES})
        found = [found[0], *(tool for tool in found[1:] if not tool.name.startswith(tuple(given.without)))]
        print("| Tree | Files | Tool | Analysed | Not analysed | CPU, least | CPU, median | Memory |")
        print("|---|---|---|---|---|---|---|---|")
        for folder in given.folders:
            rows, complaints = measure(folder.resolve(), Path(name), found, given.rounds, given.limit, given.memory)
            print("\n".join(rows), flush=True)
            wrong += complaints
    missing = [each for each in missing if not each.startswith(tuple(given.without))]
    versions = {tool.name.split(",")[0]: tool.version for tool in found}
    named = ", ".join(f"{name}: {version}" for name, version in versions.items())
    print(f"\nRatios to `ast.parse` in the same round, {given.rounds} rounds. {named}.")
    if missing:
        print(f"Not installed: {', '.join(missing)}.")
    for line in wrong:
        print(line, file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
