"""The table of the fuzz targets: what each is given, and the property that holds for whatever it is given.

A property is a function from bytes to None. It fails by an exception: an AssertionError where an answer is wrong, any
other where the gate would show a traceback.
"""

from __future__ import annotations

import json
import traceback
from collections.abc import Callable
from functools import cache
from pathlib import Path
from random import Random
from typing import NamedTuple

import amp_programs
import input_targets
import sink_targets
import static_targets
import tree_targets
from fuzz_inputs import mutated

HERE = Path(__file__).parent
REPOSITORY = HERE.parents[1]
CORPUS, CRASHES, SEEDS = HERE / "corpus", HERE / "crashes", HERE / "seeds"
PYTHON = (
    b"scaler", b"GradScaler", b"torch.autocast", b"autocast()", b".backward()", b".step(", b".update()", b"unscale_",
    b"if", b"else:", b"for", b"while True:", b"with", b"try:", b"finally:", b"except:", b"return", b"yield", b"lambda:",
    b"async", b"await", b"def f():", b"class A:", b"global", b"del", b"None", b"self", b"optimizer", b"loss", b"model",
    b"*", b"**", b":=", b"[0]", b"@", b"f'{x}'", b"match x:", b"case _:", b"# verifygate: ignore[AMP201] x", b"import",
    b"from train import *", b"precision='16-mixed'", b"enabled=False", b"dtype=torch.float16", b"type X = int",
)  # fmt: skip
DATA = (
    b"0", b"-1", b"1e999", b"NaN", b"null", b"true", b'""', b"[]", b"{}", b"[[[[", b"{{", b'"a": 1,', b"2024-13-99",
    b"12:61:99", b"9" * 5000, b"!!python/object:x", b"!!timestamp x", b"!!int x", b"&a", b"*a", b"<<: 1", b"? a",
    b"---\n", b"%YAML 9", b"0x1g", b"'''", b'"""', b"[[a]]", b"[a.b]", b"\\ud800", b"\\u0000", b"inf", b"1_0", b"\\",
    b"]]>", b"<!DOCTYPE a>", b"&#0;", b"<a>", b"/>", b"| --- |", b"100%", b"1/0", b"12 of 10", b"3 passed, 4 failed",
    b"`a.py:3`", b"..", b"/",
)  # fmt: skip

TREE = (
    b"file ", b"pipe ", b"link ", b"socket ", b"huge ", b"folder ", b"git ", b"a.py", b"b/", b"x.yaml", b"conf.json",
    b"nb.ipynb", b"pyproject.toml", b"verifygate.toml", b"requirements.txt", b"pyvenv.cfg", b"__init__.py", b"setup.py",
    b" /dev/zero", b" /dev/stdin", b" /proc/self/mem", b" ..", b" .", b" /etc", b" train", b" broken", b" runs",
    b"\\n", b"\\x1b[2J", b"::error::", b"\\x9b", b"\\x00", b"\xe2\x80\xae", b"core.fsmonitor touch canary",
    b"diff.external touch canary", b"include.path /dev/zero", b"site-packages/", b"build/", b".hidden/", b"\n",
)  # fmt: skip


class Target(NamedTuple):
    """One thing that is fuzzed."""

    name: str
    holds: Callable[[bytes], None]
    seeds: tuple[str, ...]
    """Patterns of files, relative to the repository."""
    words: tuple[bytes, ...] = DATA
    programs: bool = False
    """Whether inputs are also made by the grammar of programs."""

    def made(self, random: Random, kept: tuple[bytes, ...] = ()) -> bytes:
        """One input: a program of the grammar, or a seed that is changed; now and then as it is."""
        if self.programs and random.random() < 0.5:
            data = amp_programs.program(random).encode()
            return data if random.random() < 0.7 else self.changed(data, random)
        data = random.choice((*seeds_of(self), *kept))
        return self.changed(data, random)

    def changed(self, data: bytes, random: Random) -> bytes:
        return mutated(data, random, self.words, seeds_of(self))


CASES = ("tests/static/cases/*/*.py", "reference_impl/*.py", "tests/fuzz/seeds/project_*.txt")
TABLE = (
    Target("static-accounted", static_targets.accounted, CASES, PYTHON, programs=True),
    Target("static-unchanged", static_targets.unchanged, CASES, PYTHON, programs=True),
    Target("configuration", input_targets.configuration, ("verifygate.toml", "tests/fuzz/seeds/configuration*.txt")),
    Target("toml-lines", input_targets.toml_lines, ("pyproject.toml", "tests/fuzz/seeds/configuration.txt")),
    Target("specification", input_targets.specification, ("reference_impl/requirements.yaml",
           "tests/fuzz/seeds/specification.txt", "tests/fuzz/seeds/task.txt")),
    Target("yaml-lines", input_targets.yaml_lines, ("tests/fuzz/seeds/specification.txt", "tests/fuzz/seeds/task.txt")),
    Target("stream", input_targets.stream, ("tests/fuzz/seeds/stream.txt",)),
    Target("recording", input_targets.recording, ("tests/fuzz/seeds/recording*.txt",)),
    Target("records", input_targets.records, ("tests/fuzz/seeds/benchmark.txt", "tests/fuzz/seeds/record*.txt")),
    Target("claims", input_targets.claims, ("README.md", "reports/reference_impl/*.md", "verifygate/docs/accuracy.md")),
    Target("foreign-results", input_targets.foreign_results, ("tests/fuzz/seeds/junit.txt",)),
    Target("stored-report", input_targets.stored_report, ("reports/reference_impl/report.json",)),
    Target("old-findings", input_targets.old_findings, ("tests/fuzz/seeds/baseline.txt",)),
    Target("sweep-list", input_targets.sweep_list, ("tests/fuzz/seeds/sweep.txt",)),
    Target("hostile-texts", sink_targets.hostile_texts, ("tests/fuzz/seeds/hostile_texts.txt",)),
    Target("hostile-trees", tree_targets.hostile_trees, ("tests/fuzz/seeds/hostile_trees*.txt",), TREE),
)  # fmt: skip
TARGETS = {target.name: target for target in TABLE}
LONGEST_SEED = 64 * 1024


@cache
def seeds_of(target: Target) -> tuple[bytes, ...]:
    """The inputs that a target begins with; a report is cut to one that takes no second."""
    found = [path.read_bytes() for pattern in target.seeds for path in sorted(REPOSITORY.glob(pattern))]
    assert found, f"no seed of {target.name}"
    if target.name == "stored-report":
        found = [_small_report(found[0])]
    return tuple(data for data in found if len(data) <= LONGEST_SEED)


def _small_report(data: bytes) -> bytes:
    """The report with one or two of everything that it lists, indented so that its lines can be changed."""

    def cut(value: object) -> object:
        if isinstance(value, dict):
            return {key: cut(each) for key, each in value.items()}
        return [cut(each) for each in value[:2]] if isinstance(value, list) else value

    return json.dumps(cut(json.loads(data)), indent=1).encode()


def kept(folder: Path, target: str) -> list[Path]:
    return sorted(path for path in (folder / target).glob("*") if path.is_file())


def kind_of(error: BaseException) -> str:
    """What tells two finds apart: the error, and where it was raised, without line numbers."""
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if "site-packages" not in frame.filename]
    ours = [frame for frame in frames if "verifygate" in frame.filename or "/tests/" in frame.filename] or frames
    where = f"{Path(ours[-1].filename).stem}.{ours[-1].name}" if ours else "?"
    said = str(error)[:60] if isinstance(error, AssertionError) else ""
    return f"{type(error).__name__} in {where} {said}".strip()
