"""Everything that can be source is read, or listed as not analysed: where a faulty loop can hide from an audit."""

from __future__ import annotations

import json
import py_compile
from base64 import b64encode
from pathlib import Path
from typing import Any

import pytest

from verifygate.cli import main
from verifygate.config.rule_selection import RuleSelection
from verifygate.fix import with_fixes
from verifygate.model import Finding
from verifygate.sources.discovery import read_sources
from verifygate.sources.file import SourceFile
from verifygate.sources.notebook import NotebookFile, read_notebook
from verifygate.static.analysis_result import AnalysisResult
from verifygate.static.engine import analyse
from verifygate.static.syntax import evaluated_text

FAULTY = """\
import torch


def train(model, optimizer, scaler, batches):
    for batch in batches:
        optimizer.zero_grad()
        scaler.scale(model(batch)).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
"""
LINE = "        torch.nn.utils"


def write(root: Path, path: str, text: str) -> Path:
    file = root / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")
    return file


def audit(root: Path) -> AnalysisResult:
    write(root, "clean.py", "VALUE = 1\n")
    return analyse(read_sources(root, ["."]), RuleSelection())


def places(result: AnalysisResult) -> list[str]:
    return [finding.path for finding in result.findings if finding.rule == "AMP201"]


def lost(result: AnalysisResult) -> dict[str, str]:
    return {each.path: each.reason for each in result.not_analysed if each.mentions_amp}


@pytest.mark.parametrize(
    "path", ["train.pyw", "build/train.py", "dist/pkg/../train.py", "build/__init__.py", "not_an_environment/train.py"]
)
def test_a_program_by_another_name_is_read(tmp_path: Path, path: str) -> None:
    write(tmp_path, path.replace("pkg/../", ""), FAULTY)
    write(tmp_path, "not_an_environment/pyvenv.cfg", "")
    assert places(audit(tmp_path)) == [path.replace("pkg/../", "")]


@pytest.mark.parametrize(
    "path",
    [
        "build/lib/pkg/train.py",
        ".venv/lib/python3.11/site-packages/train.py",
        "env/lib/python3.11/site-packages/train.py",
        "node_modules/tool/train.py",
        ".tox/py311/train.py",
    ],
)
def test_copies_and_other_peoples_code_are_not(tmp_path: Path, path: str) -> None:
    write(tmp_path, "env/pyvenv.cfg", "home = /usr/bin\n")
    write(tmp_path, path, FAULTY)
    result = audit(tmp_path)
    assert (places(result), lost(result)) == ([], {})


@pytest.mark.parametrize("before", ["    \f", "\f", "\f    \f"])
@pytest.mark.parametrize("line", ["def train", LINE])
def test_form_feeds_do_not_bend_the_indentation(tmp_path: Path, before: str, line: str) -> None:
    """Python counts the columns of a line from its last form feed."""
    write(tmp_path, "train.py", f"def first():\n    return 1\n\n\n{FAULTY.replace(line, before + line)}")
    assert places(audit(tmp_path)) == ["train.py"]


def test_a_link_to_a_hidden_folder_is_followed_once(tmp_path: Path) -> None:
    write(tmp_path, ".hidden/pkg/train.py", FAULTY)
    (tmp_path / ".hidden/pkg/again").symlink_to(tmp_path / ".hidden/pkg")
    (tmp_path / "pkg").symlink_to(".hidden/pkg")
    assert places(audit(tmp_path)) == ["pkg/train.py"]


def test_links_elsewhere_are_not_followed(tmp_path: Path) -> None:
    """To an environment, to what is read anyhow, and out of the tree."""
    root = tmp_path / "root"
    write(root, "pkg/train.py", FAULTY)
    write(root, ".venv/pyvenv.cfg", "home = /usr/bin\n")
    write(root, ".venv/lib/train.py", FAULTY)
    write(tmp_path, "outside/train.py", FAULTY)
    (root / "again").symlink_to("pkg")
    (root / "env").symlink_to(".venv/lib")
    (root / "out").symlink_to("../outside")
    assert places(audit(root)) == ["pkg/train.py"]


def test_bytecode_without_source_is_not_analysed(tmp_path: Path) -> None:
    file = write(tmp_path, "train.py", FAULTY)
    py_compile.compile(str(file), cfile=str(tmp_path / "train.pyc"))
    py_compile.compile(str(file))
    assert lost(audit(tmp_path)) == {}, "its source is there"
    file.unlink()
    assert lost(audit(tmp_path)) == {"train.pyc": "is bytecode without its source, which Python imports all the same"}
    write(tmp_path, "other.pyc", "nothing of that kind")
    assert list(lost(audit(tmp_path))) == ["train.pyc"]


@pytest.mark.parametrize(
    ("text", "word"),
    [
        (f"import torch\nfrom torch import amp\n\nSOURCE = {FAULTY!r}\nexec(SOURCE)\n", "exec"),
        (f"exec({FAULTY!r}, globals())\n", "exec"),
        (f"exec(compile({FAULTY!r}, 'x', 'exec'))\n", "exec"),
        ("scaler = eval('torch.' + 'amp.GradScaler()')\n", "eval"),
        (f"exec(base64.b64decode({b64encode(FAULTY.encode())!r}))\n", "exec"),
        (f"exec(bytes.fromhex('{FAULTY.encode().hex()}'))\n", "exec"),
        (f"{FAULTY!r}\nexec(__doc__)\n", "exec"),
        (f"import builtins\nbuiltins.exec({FAULTY!r})\n", "builtins.exec"),
        (f"import builtins as plain\nplain.exec({FAULTY!r})\n", "plain.exec"),
        (f"from builtins import exec as run\nrun({FAULTY!r})\n", "run"),
        (f"run = exec\nrun({FAULTY!r})\n", "run"),
        (f"run = __builtins__.exec\nrun({FAULTY!r})\n", "run"),
    ],
)
def test_a_text_that_is_run_is_not_analysed(tmp_path: Path, text: str, word: str) -> None:
    write(tmp_path, "train.py", text)
    ((path, reason),) = lost(audit(tmp_path)).items()
    assert path == "train.py"
    assert f"runs a text that mentions AMP by `{word}`" in reason


@pytest.mark.parametrize(("plain", "odd"), [("scaler", "\U0001d4fccaler"), ("scaler", "\uff53caler")])
def test_names_in_letters_that_python_reads_as_others_are_not_analysed(tmp_path: Path, plain: str, odd: str) -> None:
    write(tmp_path, "train.py", FAULTY.replace(plain, odd))
    assert list(lost(audit(tmp_path))) == ["train.py"]
    write(tmp_path, "train.py", f"\U0001d4fc = '{odd[0]}'\n")
    assert lost(audit(tmp_path)) == {}


@pytest.mark.parametrize(
    "text",
    [
        "exec(open('configurator.py').read())\nwith autocast('cpu'):\n    pass\n",
        "model.eval()\nmodel = torch.compile(model)\nwith autocast('cpu'):\n    pass\n",
        "pattern = re.compile('autocast')\nmodel.eval('GradScaler')\n",
        "width = eval('1 + 1')\nwith autocast('cpu'):\n    pass\n",
        "import builtins\nbuiltins.print('autocast')\nrun = torch.compile\nmodel = run('autocast')\n",
    ],
)
def test_other_uses_of_these_words_are_fine(tmp_path: Path, text: str) -> None:
    write(tmp_path, "train.py", f"import torch\nfrom torch import autocast\n\n{text}")
    assert lost(audit(tmp_path)) == {}


# --- notebooks


def notebook(*cells: str | tuple[str, str], language: str = "python") -> str:
    told = [("code", cell) if isinstance(cell, str) else cell for cell in cells]
    document: dict[str, Any] = {
        "cells": [
            {"cell_type": kind, "metadata": {}, "source": source.splitlines(keepends=True)} for kind, source in told
        ],
        "metadata": {"language_info": {"name": language}},
        "nbformat": 4,
        "nbformat_minor": 5,
    }
    return json.dumps(document)


def found_in(result: AnalysisResult) -> Finding:
    (finding,) = [finding for finding in result.findings if finding.rule == "AMP201"]
    return finding


def test_a_finding_in_a_notebook_names_its_cell(tmp_path: Path) -> None:
    text = notebook("%matplotlib inline\n!pip install torch\n", ("markdown", "# Training"), "%%time\n" + FAULTY)
    write(tmp_path, "train.ipynb", text)
    finding = found_in(audit(tmp_path))
    assert finding.path == "train.ipynb"
    assert finding.message.startswith("cell 3, line 9: ")
    assert finding.snippet.startswith("torch.nn.utils.clip_grad_norm_")


def test_cells_are_one_program(tmp_path: Path) -> None:
    """What one cell defines, the next one uses."""
    head, body = FAULTY.split("\n\n\n")
    made = "scaler = torch.amp.GradScaler('cuda')\n"
    loop = "\n".join(line.removeprefix("    ") for line in body.splitlines()[1:])
    write(tmp_path, "train.ipynb", notebook(head, made, f"files = !ls\nmodel?\n{loop}\n"))
    assert found_in(audit(tmp_path)).message.startswith("cell 3, line 6: ")


def test_a_notebook_is_never_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its source file is the text of its cells: written back, it would be the end of the notebook."""
    before = notebook(FAULTY)
    file = write(tmp_path, "train.ipynb", before)
    sources = read_sources(tmp_path, ["."])
    assert not any(finding.fix for finding in with_fixes(audit(tmp_path).findings, sources))
    monkeypatch.chdir(tmp_path)
    main(["fix", "--unsafe", "."])
    main(["fix", "."])
    assert file.read_text() == before


@pytest.mark.parametrize("magic", ["%%python", "%%script python3", "%%writefile train.py", "%%writefile -a train.py"])
def test_a_cell_that_is_a_program_of_its_own_is_read(tmp_path: Path, magic: str) -> None:
    write(tmp_path, "train.ipynb", notebook(f"{magic}\n{FAULTY}"))
    assert found_in(audit(tmp_path)).message.startswith("cell 1, line 9: ")


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("{ GradScaler", "is no notebook: JSONDecodeError"),
        (notebook("import torch", "with autocast(:\n    pass"), "cell 2 is not Python"),
        ("[]", None),
        ("{", None),
        (notebook("this is no Python", "import torch"), None),
        (notebook(FAULTY, language="R"), None),
        (notebook("%%writefile notes.txt\namp is fp16=1, and no Python\n"), None),
        (notebook("%%bash\npython train.py --fp16=1\n"), None),
        (notebook("!accelerate launch train.py \\\n  --mixed_precision=fp16 \\\n  --fp16=1\nvalue = 1\n"), None),
    ],
)
def test_a_notebook_that_cannot_be_read_blocks_where_it_mentions_amp(
    tmp_path: Path, text: str, reason: str | None
) -> None:
    write(tmp_path, "train.ipynb", text)
    assert lost(audit(tmp_path)).get("train.ipynb") == reason


def test_the_lines_of_cells() -> None:
    read = read_notebook("a.ipynb", notebook("a = 1\nb = 2", ("markdown", "x"), "c = 3\n", "d = 4").encode())
    assert isinstance(read, NotebookFile)
    assert {text: read.place(line) for line, text in enumerate(read.lines, 1) if text} == {
        "a = 1": "cell 1, line 1",
        "b = 2": "cell 1, line 2",
        "c = 3": "cell 3, line 1",
        "d = 4": "cell 4, line 1",
    }


def test_a_file_that_runs_no_text_is_not_parsed_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(evaluated_text.ast, "parse")
    file = SourceFile("train.py", b"model.eval()\npattern = re.compile('x')\ntorch.compile(autocast)\nmy_eval(1)\n")

    assert not evaluated_text.text_that_is_run(file)
