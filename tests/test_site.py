"""The documentation as a whole: every page has its place, every link and anchor leads somewhere, and the site that is
built of it loads nothing from elsewhere."""

from __future__ import annotations

import re
import subprocess
import sys
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote, urlsplit

import pytest
import yaml
from build_site import DOCS, contents
from markdown_it import MarkdownIt

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted(DOCS.rglob("*.md"))]


class Page(NamedTuple):
    links: tuple[str, ...]
    anchors: frozenset[str]


def read(path: Path) -> Page:
    """The links of a Markdown page, and the anchors that the repository's view gives its headings."""
    tokens = MarkdownIt("commonmark").enable("table").parse(path.read_text(encoding="utf-8"))
    inline = [child for token in tokens for child in token.children or ()]
    links = tuple(str(child.attrs["href"]) for child in inline if child.type == "link_open")
    anchors: dict[str, int] = {}
    for opening, heading in pairwise(tokens):
        if opening.type == "heading_open":
            words = "".join(child.content for child in heading.children or ()).lower()
            anchor = re.sub(r"[^\w\- ]", "", words).replace(" ", "-")
            anchors[anchor] = anchors.get(anchor, -1) + 1
            if anchors[anchor]:
                anchors[f"{anchor}-{anchors[anchor]}"] = 0
    return Page(links, frozenset(anchors))


def test_every_anchor_is_a_heading() -> None:
    """`page.md#heading` and `#heading`; that files exist is the matter of test_docs."""
    pages = {path.resolve(): read(path) for path in PAGES}
    wrong, seen = [], 0
    for path, page in pages.items():
        for link in page.links:
            target, _, anchor = link.partition("#")
            aim = (path.parent / unquote(target)).resolve() if target else path
            if anchor and not urlsplit(link).scheme and aim.suffix == ".md":
                seen += 1
                wrong += [f"{path.name}: {link}"] if anchor not in (pages.get(aim) or read(aim)).anchors else []
    assert seen > 15
    assert wrong == []


def test_every_page_has_one_place_in_the_index() -> None:
    parts = contents((DOCS / "index.md").read_text(encoding="utf-8"))
    assert list(parts) == ["Learn", "Do", "Look up", "Understand", "Contribute"]
    named = [page for pages in parts.values() for page in pages]
    assert sorted(named) == sorted(page.stem for page in DOCS.glob("*.md") if page.stem != "index")


def test_the_page_about_ci_has_the_inputs_of_the_action() -> None:
    action = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
    page = (DOCS / "ci.md").read_text(encoding="utf-8")
    for name, field in action["inputs"].items():
        default = f"`{field['default']}`" if field["default"] else "none"
        assert f"| `{name}` | {default} | {field['description'].strip()} |" in page
    for name, field in action["outputs"].items():
        assert f"| `{name}` | {field['description'].strip()} |" in page


class Links(HTMLParser):
    """What a page of the site links to, loads, and can be linked to."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.links: list[str] = []
        self.loads: list[str] = []
        self.anchors: set[str] = set()
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        named = {name: value or "" for name, value in attrs}
        self.anchors |= {named["id"]} if "id" in named else set()
        if "src" in named:
            self.loads.append(named["src"])
        if "href" in named:
            (self.loads if tag == "link" else self.links).append(named["href"])


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built by the command of `make docs`."""
    target = tmp_path_factory.mktemp("build") / "site"
    command = [sys.executable, "tests/build_site.py", str(target)]
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert ended.returncode == 0, ended.stderr
    return target


@pytest.mark.slow
def test_the_site_has_no_dead_link_and_loads_nothing_from_elsewhere(site: Path) -> None:
    pages = {path.resolve(): Links(path) for path in site.rglob("*.html")}
    assert len(pages) > 100
    dead, foreign, seen = [], [], 0
    for path, page in pages.items():
        for link in (*page.links, *page.loads):
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                foreign += [f"{path.name}: {link}"] if link in page.loads and parts.scheme != "data" else []
                continue
            seen += 1
            aim = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            if not aim.exists() or (parts.fragment and aim in pages and parts.fragment not in pages[aim].anchors):
                dead.append(f"{path.name}: {link}")
    assert seen > 10_000
    assert dead == []
    assert foreign == []


@pytest.mark.slow
def test_no_style_or_script_of_the_site_fetches_anything(site: Path) -> None:
    """No font, picture or script of another host, which a reader without a network would wait for."""
    for path in (*site.rglob("*.css"), *site.rglob("*.js")):
        text = path.read_text(encoding="utf-8")
        assert not re.search(r"@import\s+(url\()?['\"]?(https?:)?//|url\(['\"]?(https?:)?//", text), path.name
        assert not re.search(r"(fetch|importScripts)\(['\"](https?:)?//", text), path.name


@pytest.mark.slow
def test_a_dead_link_stops_the_build(tmp_path: Path) -> None:
    """The build that `make docs` is can fail: a page, an anchor of another page and one of the same are not there."""
    source = tmp_path / "source"
    source.mkdir()
    (source / "verdict.md").write_text("# The verdict\n", encoding="utf-8")
    (source / "index.md").write_text(
        "# Index\n\n[a](gone.md) [b](verdict.md#lost) [c](#missing)\n\n## Look up\n\n- [The verdict](verdict.md)\n",
        encoding="utf-8",
    )
    (source / "rules.md").write_text("---\norphan: true\n---\n# Rules\n", encoding="utf-8")
    code = (
        "import sys; from pathlib import Path; import build_site as site; "
        "site.write_docs.rule_pages = lambda: {'AMP000': '# A rule\\n'}; "
        f"site.DOCS = Path({str(source)!r}); sys.exit(site.build(Path({str(tmp_path / 'site')!r})))"
    )
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT / "tests")
    assert ended.returncode == 1, ended.stderr
    assert all(name in ended.stderr for name in ("gone.md", "lost", "missing"))
    assert not (tmp_path / "site").exists()
