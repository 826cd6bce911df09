"""What nobody has read is never clean: files that a command starts, and trees that a tool trains from a file."""

from __future__ import annotations

from pathlib import Path

import pytest

from verifygate.base.errors import UsageError
from verifygate.config.rule_selection import RuleSelection
from verifygate.config.settings import load
from verifygate.gate.run import RunOptions, run
from verifygate.sources.configuration_file import ConfigurationFile
from verifygate.sources.file import SourceFile
from verifygate.sources.tree import Sources
from verifygate.static.engine import analyse

BROKEN = "def f(:\n"
YAML = "base_model: some/chat-7b\nbf16: true\n"


def lost(sources: dict[str, str], beside: dict[str, str]) -> list[tuple[str, bool, str]]:
    files = Sources(
        [SourceFile(path, text.encode()) for path, text in sources.items()],
        configuration=[ConfigurationFile(path, data=text.encode()) for path, text in beside.items()],
    )
    found = analyse(files, RuleSelection())
    return [(each.path, each.mentions_amp, each.reason) for each in found.not_analysed]


@pytest.mark.parametrize(
    ("script", "counts"),
    [
        ("python -u tools/fit.py --epochs 3\n", True),
        ("cd tools\n# python fit.py\necho fit.py\n", False),
        ("torchrun --nproc_per_node 8 \\\n  -m tools.fit\n", True),
    ],
)
def test_a_broken_file_that_a_command_starts_counts(script: str, counts: bool):
    (found,) = lost({"tools/fit.py": BROKEN, "other.py": "import torch\n"}, {"run.sh": script})

    assert found[:2] == ("tools/fit.py", counts)
    assert ("run.sh:1 starts it" in found[2]) is counts


def test_a_file_that_a_tool_trains_by_is_a_program_that_nobody_read():
    (found,) = lost({"rows.py": "print(1)\n"}, {"config.yml": YAML, "go.sh": "set -e\nsometool train config.yml\n"})

    assert found[:2] == ("config.yml", True)
    assert "`sometool` trains by it (go.sh:2)" in found[2]


@pytest.mark.parametrize(
    ("source", "script"),
    [
        ("import torch\n", "sometool train config.yml\n"),  # the sources are what trains
        ("print(1)\n", "python rows.py config.yml\n"),  # a program of the tree reads it
        ("print(1)\n", "sometool train other.yml\n"),
    ],
)
def test_a_file_that_no_tool_trains_by_is_none(source: str, script: str):
    assert lost({"rows.py": source}, {"config.yml": YAML, "go.sh": script}) == []


def test_no_verdict_on_a_tree_that_a_tool_trains_from(tmp_path: Path):
    for name, text in {"rows.py": "print(1)\n", "config.yml": YAML, "go.sh": "sometool train config.yml\n"}.items():
        (tmp_path / name).write_text(text)

    with pytest.raises(UsageError, match=r"config\.yml: `sometool` trains by it \(go\.sh:1\)") as refused:
        run(load(None, tmp_path))

    assert refused.value.exit_code == 2
    assert run(load(None, tmp_path), RunOptions(stages=("security",))).stages  # which is not about what trains
