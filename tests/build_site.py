"""Build the documentation as a site: `python tests/build_site.py FOLDER`, or `make docs`.

The pages below `docs/` are the source, and `index.md` is the table of contents: its headings are the parts, the links
below them the pages in order. Sphinx renders them with MyST, which reads CommonMark as the repository's own view does.
A link that leads nowhere, an anchor that is not there and a page that no part names stop the build. Nothing is
downloaded, and the site loads nothing from elsewhere.
"""

from __future__ import annotations

import re
import shutil
import sys
import tempfile
from collections.abc import Mapping
from functools import partial
from pathlib import Path

import write_docs

import verifygate
from verifygate.report.rule_pages import rule_modules

DOCS = write_docs.DOCS
TITLE = "verifygate"
_LINK = re.compile(r"\[([^\[\]]+)\]\((\.\./[^()\s]+)\)")
_ENTRY = re.compile(r"^- \[([^\]]+)\]\(([\w-]+)\.md\)$", re.MULTILINE)
_CONF: Mapping[str, object] = {
    "project": TITLE,
    "version": verifygate.__version__,
    "release": verifygate.__version__,
    "extensions": "myst_parser",
    "myst_heading_anchors": 6,
    "html_theme": "furo",
    "html_title": f"{TITLE} {verifygate.__version__}",
    "html_show_sphinx": False,
    "html_show_copyright": False,
    "html_copy_source": False,
    "html_static_path": ["_static"],
    "html_css_files": ["tables.css"],
    "highlight_language": "text",  # of a block that names none: output, and commands
    "smartquotes": False,  # an option is `--why`, also outside of code
    # an example that is meant to be wrong is no reason to stop
    "suppress_warnings": "misc.highlighting_failure",
}

_TABLES = "td:last-child code { overflow-wrap: anywhere; }\n"
"""Ids of tests, in the last column of a table, are wrapped: else they leave no room for the words beside them."""


def contents(index: str) -> dict[str, dict[str, str]]:
    """The parts of the documentation, each with its pages in order and how they are called there.

    `{"Learn": {"tutorial": "Tutorial: from a faulty loop to PASS"}, ...}`
    """
    parts = re.split(r"^## ", index, flags=re.MULTILINE)[1:]
    return {part.partition("\n")[0]: {page: title for title, page in _ENTRY.findall(part)} for part in parts}


def build(target: Path) -> int:
    """Write the site to `target`, which is replaced. Returns Sphinx's exit code: 0 where nothing is wrong."""
    from sphinx.application import Sphinx

    with tempfile.TemporaryDirectory(prefix="verifygate-site-") as name:
        source, made = Path(name, "source"), Path(name, "site")
        _staged(source)
        application = Sphinx(
            source,
            None,
            made,
            Path(name, "doctrees"),
            "html",
            confoverrides=dict(_CONF),
            status=None,
            warningiserror=True,
            keep_going=True,
        )
        application.build(force_all=True)
        if application.statuscode == 0:
            shutil.rmtree(target, ignore_errors=True)
            shutil.copytree(made, target, ignore=shutil.ignore_patterns(".buildinfo*"))
        return application.statuscode


def _staged(source: Path) -> None:
    """The pages as Sphinx reads them: with those of the rules, the lists of what belongs to what, and no link out."""
    shutil.copytree(DOCS, source)
    (source / "rules").mkdir(exist_ok=True)
    (source / "_static").mkdir()
    (source / "_static" / "tables.css").write_text(_TABLES, encoding="utf-8")
    for code, text in write_docs.rule_pages().items():
        (source / "rules" / f"{code}.md").write_text(text, encoding="utf-8")
    of_modules = {path.resolve(): code for code, path in rule_modules().items()}
    for page in source.rglob("*.md"):
        text = page.read_text(encoding="utf-8")
        page.write_text(_LINK.sub(partial(_kept, page.parent, source, of_modules), text), encoding="utf-8")
    index = source / "index.md"
    text = index.read_text(encoding="utf-8")
    index.write_text(text + "".join(_list(pages, part) for part, pages in contents(text).items()), encoding="utf-8")
    rules = source / "rules.md"
    codes = dict.fromkeys(sorted(f"rules/{page.stem}" for page in (source / "rules").glob("*.md")), "")
    rules.write_text(rules.read_text(encoding="utf-8") + _list(codes), encoding="utf-8")


def _kept(folder: Path, source: Path, of_modules: Mapping[Path, str], link: re.Match[str]) -> str:
    """A link into the pages stays, one to a rule's module becomes its page; of another that leaves, the words stay."""
    target = link[2].partition("#")[0]
    if code := of_modules.get((DOCS / target).resolve()):
        return f"[{link[1]}](rules/{code}.md)"
    aim = (folder / target).resolve()
    return link[0] if aim.is_relative_to(source.resolve()) else link[1]


def _list(pages: Mapping[str, str], caption: str = "") -> str:
    """Pages for the navigation, under the titles that are given; one without is called by its heading."""
    options = [":hidden:", *([f":caption: {caption}"] if caption else [])]
    entries = [f"{title} <{page}>" if title else page for page, title in pages.items()]
    return "\n".join(["", "```{toctree}", *options, "", *entries, "```", ""])


def main() -> int:
    """Build the site in the folder that is named."""
    if len(sys.argv) != 2:
        print("usage: python tests/build_site.py FOLDER", file=sys.stderr)
        return 2
    target = Path(sys.argv[1])
    code = build(target)
    if code == 0:
        print(f"wrote {target / 'index.html'}")
    return code


if __name__ == "__main__":
    sys.exit(main())
