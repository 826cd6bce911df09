"""Whatever a name holds, it stays in its place: read back by a Markdown, HTML or XML parser, it is one cell of text."""

from __future__ import annotations

import re
import unicodedata
import xml.etree.ElementTree as ET
from html.parser import HTMLParser

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from report_sample import HOSTILE

from verifygate.report import escape

MARKDOWN = MarkdownIt("commonmark", {"html": True}).enable("table")
NASTY = st.text(
    alphabet=st.one_of(st.sampled_from("|`*_[]()<>&!#~\\\"'@:/.-+=$ \n\t\r\0\x1b\u202e\u200b{}%1ax"), st.characters()),
    max_size=40,
)
CELLS = (escape.md_text, escape.md_prose, escape.md_code)


def table(*cells: str) -> list[list[str]]:
    """The rows of a table with these cells in its body, as a parser reads them: text and code only."""
    tokens = MARKDOWN.parse("| a | b | c |\n|---|---|---|\n| x | " + " | ".join(cells) + " |\n")
    assert tokens[0].type == "table_open"
    assert tokens[-1].type == "table_close"
    rows: list[list[str]] = []
    for token in tokens:
        if token.type == "tr_open":
            rows.append([])
        elif token.type == "inline":
            rows[-1].append("".join(words(child) for child in token.children or ()))
    return rows


def words(token) -> str:
    """The text of an inline token; anything that is more than text or code is a violation."""
    if token.type == "html_inline":
        assert token.content in ("<code>", "</code>")
        return ""
    assert token.type in ("text", "code_inline", "text_special")
    return token.content


def outside_code(markdown: str) -> str:
    """The rendered text in which GitHub looks for mentions and addresses: it leaves code alone."""
    out, depth = [], 0
    for token in MARKDOWN.parse(markdown):
        for child in token.children or ():
            if child.type == "html_inline":
                depth += {"<code>": 1, "</code>": -1}[child.content]
            elif not depth and child.type != "code_inline":
                out.append(child.content)
    assert depth == 0
    return "".join(out)


@pytest.mark.parametrize("cell", CELLS)
@example(text=HOSTILE)
@example(text="a\\|b")
@example(text="`|`")
@example(text="a | b | **PASS** |\n| c")
@given(text=NASTY)
def test_cell_is_one_cell_of_text(cell, text: str) -> None:
    """A name cannot end its cell, its row or its table, and reads as itself."""
    rows = table(cell(text), "PASS")
    assert len(rows) == 2
    assert rows[1][0] == "x"
    assert rows[1][2] == "PASS"
    if cell is not escape.md_prose:
        assert rows[1][1].strip() == escape.plain(text, escape.LONG if cell is escape.md_text else escape.SHORT)


@example(text="# no heading")
@example(text="1. no list")
@example(text="- no list")
@example(text="--- no rule")
@example(text="[a]: http://evil.example")
@given(text=NASTY)
def test_text_in_a_list_item_is_one_paragraph(text: str) -> None:
    """A name cannot begin a heading, a list, a rule, a quotation or a block of HTML."""
    kinds = {token.type for token in MARKDOWN.parse(f"- {escape.md_text(text) or 'x'}\n")}
    assert kinds <= {f"{k}_{e}" for k in ("bullet_list", "list_item", "paragraph") for e in ("open", "close")} | {
        "inline"
    }


@given(text=NASTY)
def test_code_outside_a_table_is_code(text: str) -> None:
    """Backticks in a name never end the span."""
    shown = escape.md_code(text)
    inline = next((t for t in MARKDOWN.parse(f"x {shown} y") if t.type == "inline"), None)
    assert inline is not None
    read = "".join(words(child) for child in inline.children or ())
    assert read.strip() == f"x {escape.plain(text)} y".strip() or not escape.plain(text)


@example(text="```\n# heading\n````\n")
@given(text=NASTY)
def test_fence_holds_its_content(text: str) -> None:
    """No content ends the code block that it is in."""
    tokens = MARKDOWN.parse(escape.md_fence(text, "text") + "\n\nafter\n")
    assert [t.type for t in tokens] == ["fence", "paragraph_open", "inline", "paragraph_close"]


LIVE = (
    "@team",
    "see @org/team now",
    "#123",
    "x@y.example",
    "https://evil.example",
    "www.evil.example",
    "HTTP://evil.example",
)


@pytest.mark.parametrize("text", LIVE)
def test_mentions_and_addresses_are_code(text: str) -> None:
    """Nobody is called by a test name, and a report's links are the gate's own; what is copied is the text itself."""
    shown = escape.md_text(text)
    assert not re.search(r"@\w|#\d|://|www\.", outside_code(shown), re.IGNORECASE)
    assert table(shown, "PASS")[1][1] == text


@given(text=NASTY)
def test_nothing_live_is_left_outside_code(text: str) -> None:
    """Whatever stands around it."""
    assert not re.search(r"@\w|#\d|://|www\.", outside_code(f"x {escape.md_prose(text)} x"), re.IGNORECASE)


@given(text=NASTY)
def test_nothing_invisible_is_in_what_is_copied(text: str) -> None:
    """A name, a command or a block that somebody copies holds what is seen, and nothing else."""
    for shown in (escape.md_text(text), escape.md_prose(text), escape.md_code(text), escape.md_fence(text)):
        assert not any(unicodedata.category(each) == "Cf" for each in shown)


def test_ordinary_words_stay_readable() -> None:
    """What needs no escape has none, so that a report can be read raw."""
    text = "clip_grad_norm (twice, 3 of 4) - see demo/train_step.py:88; 25.50 x >= -1.5"
    assert escape.md_text(text) == text.replace(">", "&gt;")


@pytest.mark.parametrize(
    ("path", "line", "expected"),
    [
        ("a/b.py", 3, "../../a/b.py#L3"),
        ("a/b.py", None, "../../a/b.py"),
        ("a b)(|.py", 3, "../../a%20b%29%28%7C.py#L3"),
        ("javascript:alert(1)", 3, "../../javascript%3Aalert%281%29#L3"),
        ("../secret", 3, ""),
        ("/etc/passwd", 3, ""),
        ("site-packages/torch/cuda/amp/autocast_mode.py", 54, ""),
        ("<temp>/test_one.py", 3, ""),
        ("", 3, ""),
        ("x" * 5000, 3, ""),
    ],
)
def test_link_leads_into_the_project_only(path: str, line: int | None, expected: str) -> None:
    """Relative, encoded, and none at all where it would lead out of the project."""
    assert escape.link_target(path, line, "../../") == expected


@given(NASTY)
def test_link_is_one_link(path: str) -> None:
    """A path cannot end the link that shows it."""
    inline = next(t for t in MARKDOWN.parse(f"x {escape.md_link(path, 3, '../../')} y") if t.type == "inline")
    children = [child for child in inline.children or () if child.type not in ("text", "text_special", "code_inline")]
    assert all(child.content in ("<code>", "</code>") for child in children if child.type == "html_inline")
    kinds = [child.type for child in children]
    assert [kind for kind in kinds if kind != "html_inline"] in (["link_open", "link_close"], [])
    assert kinds[:1] + kinds[-1:] == ["link_open", "link_close"] or set(kinds) <= {"html_inline"}


@given(st.text(), st.integers(1, 50))
def test_plain_is_one_visible_line(text: str, limit: int) -> None:
    """No control, bidirectional or invisible character, no surrogate, NFC, and an end."""
    shown = escape.plain(text, limit)
    assert not [c for c in shown if unicodedata.category(c) in ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp")]
    assert len(shown) <= limit + 50
    assert unicodedata.is_normalized("NFC", shown)
    shown.encode("utf-8")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("\x1b[31mred\x1b[0m", "red"),
        ("\x1b]8;;http://evil.example\x07click\x1b]8;;\x07", "click"),
        ("a\u202eb\u2066c\ufeffd", "abcd"),
        ("a\nb\r\nc\u2028d\x85e", "a b c d e"),
        ("nul\0 bel\a", "nul bel"),
        ("e\u0301", "\u00e9"),
        ("caf\udce9", "caf"),
    ],
)
def test_plain_examples(text: str, expected: str) -> None:
    """What a terminal would obey is gone, what a person would read stays."""
    assert escape.plain(text) == expected


def test_long_texts_stay_apart() -> None:
    """Cut to the same beginning, two names still differ by their hash."""
    one, two = escape.plain("x" * 100_000 + "1"), escape.plain("x" * 100_000 + "2")
    assert one != two
    assert len(one) < 300


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: object) -> None:  # noqa: ARG002
        self.tags.append(tag)

    def handle_data(self, data: str) -> None:
        self.text += data


@given(NASTY)
def test_html_is_text(text: str) -> None:
    """A name opens no tag."""
    reader = _Reader()
    reader.feed(f"<b>{escape.html_text(text)}</b>")
    reader.close()
    assert reader.tags == ["b"]
    assert reader.text == escape.plain(text, escape.LONG)


@given(st.text())
def test_xml_is_text(text: str) -> None:
    """What is written can be parsed again."""
    element = ET.Element("case", name=escape.xml_text(text))
    element.text = escape.xml_text(text)
    ET.fromstring(ET.tostring(element))  # noqa: S314 - our own output


@given(NASTY)
def test_workflow_command_is_one_line(text: str) -> None:
    """Data cannot begin a command of its own, and a property cannot end."""
    assert "\n" not in escape.workflow_data(text)
    assert not re.search(r"[\r\n:,]", escape.workflow_property(text))
    assert escape.workflow_data("50% \n::error::x") == "50%25 ::error::x"
