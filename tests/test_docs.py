"""The documentation says what the code does: generated pages are current, README shows real output."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
import sizes
import write_docs
from click.testing import CliRunner

from verifygate.cli import main
from verifygate.commands import EVIDENCE, GROUPS, HIDDEN, MODULES, cli
from verifygate.report import markdown
from verifygate.report.formats import run_formats
from verifygate.report.rule_pages import rule_page
from verifygate.security.registry import security_rules
from verifygate.static.registry import load_rules

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")


PAGES = write_docs.pages()
BY_HAND = sorted(path for path in write_docs.DOCS.glob("*.md") if path.name not in PAGES)
MOST_PAGES = 35
MOST_LINES = 180
NAMED = re.compile(r"verifygate docs\s+([a-z]{2,}[\w-]*|[A-Z]+\d+)|(?<![\w./])(?:verifygate/)?docs/([\w-]+)\.md")
TEXTS = (".py", ".j2", ".yaml", ".yml", ".toml", ".json")


@pytest.mark.parametrize("name", sorted(PAGES))
def test_generated_page_is_current(name: str):
    """`python tests/write_docs.py` was run after the last change of rules, settings or models."""
    assert (write_docs.DOCS / name).read_text(encoding="utf-8") == PAGES[name]


def test_the_pages_are_few_and_short():
    """A reader finds the way: at most 35 pages written by hand, and none longer than three screens."""
    lengths = {path.name: len(path.read_text(encoding="utf-8").splitlines()) for path in BY_HAND}

    assert 20 < len(lengths) <= MOST_PAGES
    assert {name: count for name, count in lengths.items() if count > MOST_LINES} == {}


def test_the_page_about_the_size_is_about_this_size():
    """Within a tenth, or a thousand lines: else `python tests/write_docs.py`."""
    page = (write_docs.DOCS / "about.md").read_text(encoding="utf-8")

    assert sizes.drifted(page) == []
    assert sizes.drifted(page.replace("| performance | ", "| performance | 9")) == ["performance"]
    assert "performance" in sizes.drifted("")


def test_messages_name_pages_that_exist():
    """`verifygate docs NAME` in a message, a written file or a report opens a page, and `docs/NAME.md` is one."""
    topics = {path.stem for path in write_docs.DOCS.glob("*.md")} | {*load_rules(), *security_rules()}
    package = ROOT / "verifygate"
    files = [path for path in package.rglob("*") if path.suffix in TEXTS and not path.is_relative_to(write_docs.DOCS)]
    files += [ROOT / name for name in ("action.yml", "hatch_build.py", "verifygate.toml")]
    files += (ROOT / "reference_impl").glob("*.yaml")
    named = [
        (path.relative_to(ROOT).as_posix(), name)
        for path in files
        for found in NAMED.finditer(path.read_text(encoding="utf-8"))
        for name in found.groups()
        if name
    ]

    assert len(named) > 20
    assert [(path, name) for path, name in named if name not in topics] == []


def test_what_reports_say_of_a_rule_is_what_its_module_says():
    """Reports read the source of a rule, which they may not import: name, severity and page are those of the rule."""
    loaded = {**load_rules(), **security_rules()}
    pages = {code: rule_page(code) for code in loaded}

    assert len(loaded) > 100
    assert {code: (page.name, page.severity, page.markdown.strip()) for code, page in pages.items() if page} == {
        code: (each.rule.name, each.rule.severity.value, each.docs.strip()) for code, each in loaded.items()
    }
    assert rule_page("AMP999") is None


def test_readme_shows_exactly_what_the_command_prints(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    """The faulty loop of the first screen, checked with the command below it, gives the output below that."""
    loop = re.search(r"```python\n(.*?)```", README, re.DOTALL)
    shown = re.search(r"```console\n\$ (verifygate check .*?)\n(.*?)```", README, re.DOTALL)
    assert loop is not None
    assert shown is not None
    name, *arguments = shlex.split(shown[1])
    (tmp_path / arguments[-1]).write_text(loop[1], encoding="utf-8")
    monkeypatch.chdir(tmp_path)

    assert name == "verifygate"
    assert main(arguments) == 1
    assert capsys.readouterr().out == shown[2]


@pytest.mark.parametrize("name", [*MODULES, *(f"evidence {name}" for name in EVIDENCE)])
def test_every_command_has_help_and_a_row_in_the_page_about_commands(name: str):
    shown = CliRunner().invoke(cli, [*name.split(), "--help"])
    page = (write_docs.DOCS / "commands.md").read_text(encoding="utf-8")

    assert shown.exit_code == 0
    assert len(shown.output.partition("Options:")[0].split()) > 6
    assert name in HIDDEN or f"`verifygate {name} " in page or f"`verifygate {name}`" in page


def test_the_help_lists_the_commands_by_what_one_wants_to_do():
    shown = CliRunner().invoke(cli, ["--help"]).output
    titles = re.findall(r"^(\w[\w ]+):$", shown, re.MULTILINE)
    listed = re.findall(r"^  ([a-z]+)  ", shown, re.MULTILINE)

    assert titles == ["Options", *GROUPS]
    assert listed == [name for group in GROUPS.values() for name in group]


@pytest.mark.parametrize("name", EVIDENCE)
def test_an_earlier_name_still_works_and_says_the_present_one(name: str):
    """One line on stderr; what is printed and the exit code are those of the command."""
    old, new = (CliRunner().invoke(cli, [*words, name]) for words in ([], ["evidence"]))

    assert old.stderr.splitlines()[0] == f"verifygate: `{name}` is now `evidence {name}`; the old name goes in 0.2"
    assert new.stderr.count("is now") == 0
    assert (old.exit_code, old.stdout) == (new.exit_code, new.stdout)


def test_links_in_the_documentation_lead_somewhere():
    """Every relative link of README and docs names a file that is there."""
    links = [
        (page, target)
        for page in [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *write_docs.DOCS.rglob("*.md")]
        for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8"))
    ]
    assert {page.name for page, _ in links} > {"README.md", "rules.md"}
    assert [f"{page.name}: {target}" for page, target in links if not (page.parent / target).exists()] == []


def test_the_page_about_reports_names_every_format_and_every_page():
    """A new format or stage is in the two tables, and on the page that says what a run writes."""
    page = (write_docs.DOCS / "reports.md").read_text(encoding="utf-8")
    assert f"`--format {','.join(run_formats())}`" in page
    assert [name for name in markdown.PAGES if f"| `{name}` |" not in page] == []


@pytest.mark.parametrize("name", ["internals.md", "static-analysis.md"])
def test_internals_name_files_that_exist(name: str):
    """The pages that say which file to open are about this tree: each path in them, with a folder, leads somewhere."""
    page = (write_docs.DOCS / name).read_text(encoding="utf-8")
    named = sorted(set(re.findall(r"(?<![\w/.-])(?:\w+/)+\w+\.py|(?<![\w/.-])\w+/(?:\w+/)+(?![\w*])", page)))

    assert len(named) > 10
    assert [path for path in named if not any((base / path).exists() for base in (ROOT, ROOT / "verifygate"))] == []
