"""Rows over public trees: `python tests/golden/trees.py [--write] NAME@REVISION=FOLDER ...`.

For each tree the findings (path, line, rule, severity, certainty), and how often which reason of *not followed* is
told: no source. Without `--write` it prints what moved against `trees/NAME.tsv`, and ends with 1 if anything did. With
it, it writes the files, and into never_run.txt the functions of `static/` that none of the given trees enters.
"""

from __future__ import annotations

import argparse
import ast
import re
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path

import coverage

from verifygate.config.settings import StaticSettings
from verifygate.sources.discovery import read_sources
from verifygate.static.analysis_result import AnalysisResult
from verifygate.static.engine import analyse

HERE = Path(__file__).parent
TREES = HERE / "trees"
NEVER_RUN = HERE / "never_run.txt"
STATIC = HERE.parent.parent / "verifygate/static"


def kind_of(reason: str) -> str:
    """A reason without what it names, so that those of one kind are counted together."""
    kind = re.sub(r"`[^`]*`|[\w.]*[_.][\w.]*|\b\w+(?= calls itself)", "_", reason)
    return re.sub(r"\d+", "N", kind)


def lines_of(title: str, outcome: AnalysisResult) -> list[str]:
    """The file of a tree: what it is, reasons by number, findings."""
    reasons = Counter(f"{each.rule or 'order'}: {kind_of(each.reason)}" for each in outcome.not_followed)
    head = [f"# {title}: {outcome.files_checked} files, {len(outcome.not_analysed)} of them not analysed"]
    head += [f"# not followed {count}: {reason}" for reason, count in sorted(reasons.items())]
    found = sorted((each.path, each.line, each.rule, each.severity, each.certainty) for each in outcome.findings)
    return [*head, *("\t".join(map(str, row)) for row in found)]


def never_run(seen: coverage.CoverageData) -> Iterator[str]:
    """`PATH: NAME`, for each function of which no statement ran; a module of which none did is one line."""
    for path in sorted(STATIC.rglob("*.py")):
        ran = set(seen.lines(str(path)) or ())
        functions = list(_functions(ast.parse(path.read_text("utf-8")).body))
        idle = [name for name, body in functions if ran.isdisjoint(body)]
        shown = path.relative_to(STATIC.parent).as_posix()
        if idle and len(idle) == len(functions):
            yield f"{shown}: all of its {len(idle)} functions"
        else:
            yield from (f"{shown}: {name}" for name in idle)


def _functions(body: list[ast.stmt], prefix: str = "") -> Iterator[tuple[str, range]]:
    for node in body:
        if isinstance(node, ast.ClassDef):
            yield from _functions(node.body, f"{prefix}{node.name}.")
        elif isinstance(node, ast.FunctionDef):
            first = node.body[1] if len(node.body) > 1 and _is_text(node.body[0]) else node.body[0]
            yield f"{prefix}{node.name}", range(first.lineno, (node.end_lineno or first.lineno) + 1)


def _is_text(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def main() -> int:
    """Compare, or write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true")
    parser.add_argument("tree", nargs="+", metavar="NAME@REVISION=FOLDER")
    given = parser.parse_args()
    measure = coverage.Coverage(data_file=None, config_file=False, source=[str(STATIC)])
    moved = 0
    for one in given.tree:
        title, _, folder = one.partition("=")
        with measure.collect() if given.write else nullcontext():
            sources = read_sources(Path(folder), ["."])
            outcome = analyse(sources, StaticSettings(), merged=False, with_constructs=False)
        lines = lines_of(title, outcome)
        file = TREES / f"{title.partition('@')[0].replace('/', '+')}.tsv"
        old = file.read_text("utf-8").splitlines() if file.exists() else []
        changed = [f"- {line}" for line in old if line not in lines]
        changed += [f"+ {line}" for line in lines if line not in old]
        moved += len(changed)
        print(f"{title}: {len(outcome.findings)} findings, {len(changed)} lines moved", *changed[:200], sep="\n")
        if given.write:
            TREES.mkdir(exist_ok=True)
            file.write_text("\n".join([*lines, ""]), encoding="utf-8")
    if given.write:
        NEVER_RUN.write_text("".join(f"{line}\n" for line in never_run(measure.get_data())), encoding="utf-8")
        return 0
    return bool(moved)


if __name__ == "__main__":
    sys.exit(main())
