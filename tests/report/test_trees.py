"""Trees as text and as Mermaid: the same words in both, and no word that could become markup."""

from __future__ import annotations

import re

import pytest
from report_sample import HOSTILE, completed_requirements, report

from verifygate.model import ArchitectureTrees, Branch, RequirementsDetails
from verifygate.report.formats import render
from verifygate.report.trees import as_mermaid, as_text

TREE = Branch(
    text="the project's own code",
    inner=(
        Branch(
            text="`Trainer.step`",
            path="train.py",
            line=88,
            inner=(
                Branch(text="enters autocast", path="train.py", line=88),
                Branch(text="scales the loss", path="train.py", line=90),
            ),
        ),
        Branch(text="nothing here updates the scale", missing=True),
    ),
)
NODE = re.compile(r'\s+(\w+)\["([A-Za-z0-9 .,/_()=+*:#;-]*)"\]')


def test_a_tree_is_drawn_with_its_places():
    assert as_text(TREE) == (
        "the project's own code\n"
        "├── Trainer.step (train.py:88)\n"
        "│   ├── enters autocast (train.py:88)\n"
        "│   └── scales the loss (train.py:90)\n"
        "└── nothing here updates the scale"
    )


def test_a_diagram_has_a_frame_for_each_tree_and_an_arrow_for_each_branch():
    """What is missing has a dashed border."""
    assert as_mermaid(("expected", Branch(text="explicit AMP")), ("actual", TREE)).splitlines() == [
        "flowchart LR",
        '  subgraph s0["expected"]',
        '    t0["explicit AMP"]',
        "  end",
        '  subgraph s1["actual"]',
        '    t1["the project#39;s own code"]',
        '    t1_0["Trainer.step (train.py:88)"]',
        "    t1 --> t1_0",
        '    t1_0_0["enters autocast (train.py:88)"]',
        "    t1_0 --> t1_0_0",
        '    t1_0_1["scales the loss (train.py:90)"]',
        "    t1_0 --> t1_0_1",
        '    t1_1["nothing here updates the scale"]',
        "    t1 --> t1_1",
        "  end",
        "  classDef missing stroke-dasharray: 5 5",
        "  class t1_1 missing",
    ]


def test_no_text_can_leave_its_label_or_its_line():
    """Quotes, brackets, angle brackets, backticks and line ends of the project never reach the diagram as such."""
    names = ('"]; click t0 "javascript:alert(1)"', "end", 'a"b', "x\n    t0 --> evil", "#quot;", HOSTILE, "`style`")
    drawn = as_mermaid(("actual", Branch(text="root", inner=tuple(Branch(text=name, path=name) for name in names))))
    body = drawn.splitlines()[2:-1]
    nodes = [NODE.fullmatch(line) for line in body if "-->" not in line]
    assert len(body) == 2 * len(names) + 1
    assert all(nodes)
    assert {line.strip() for line in body if "-->" in line} == {f"t0 --> t0_{n}" for n in range(len(names))}
    assert as_text(Branch(text="a\nb", path="c\nd")) == "a b (c d)"


@pytest.mark.parametrize(
    ("text", "label"),
    [
        ("1. first", "#49;#46; first"),
        ("- step", "#45; step"),
        ("**all** __init__", "#42;#42;all#42;#42; #95;#95;init#95;#95;"),
        ("f(x) = 1.5 - 2", "f(x) = 1.5 - 2"),
    ],
)
def test_no_label_is_markdown(text: str, label: str):
    """Newer versions of Mermaid draw no list and make text bold."""
    assert f'["{label}"]' in as_mermaid(("actual", Branch(text=text)))


def test_both_pages_show_both_trees_and_the_mismatch():
    """Markdown with the diagram as well; HTML, which runs no script, without."""
    stage = completed_requirements()
    assert isinstance(stage.details, RequirementsDetails)
    drawn = ArchitectureTrees(expected=Branch(text="explicit <b>AMP</b>"), actual=TREE, mismatch="delegated <here>")
    told = report((stage.model_copy(update={"details": stage.details.model_copy(update={"architecture": drawn})}),))
    page = render(told, "md")["requirements.md"].partition("## Architecture")[2].partition("\n## ")[0]
    assert "**delegated &lt;here&gt;**" in page
    assert f"```text\n{as_text(TREE)}\n```" in page
    assert "```text\nexplicit <b>AMP</b>\n```" in page
    assert "```mermaid\nflowchart LR\n" in page
    html = render(told, "html")["report.html"].partition("<h3>Architecture</h3>")[2].partition("<h3>")[0]
    assert "delegated &lt;here&gt;" in html
    assert "explicit &lt;b&gt;AMP&lt;/b&gt;" in html
    assert "└── nothing here updates the scale" in html
