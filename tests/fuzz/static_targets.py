"""Properties of the static engine: every file accounted for, and the same answer for the same program.

An input is one program, of one file or several. Nothing here knows which findings are right: it knows which changes of
a program, and of how the engine is asked, must not change them.
"""

from __future__ import annotations

import ast
import io
import tokenize
import warnings
from collections import Counter
from hashlib import blake2b
from random import Random

from fuzz_inputs import files_in
from sink_targets import read_back

from verifygate.config.rule_selection import RuleSelection
from verifygate.model.check_report import CheckReport
from verifygate.model.finding import Finding
from verifygate.sources.configuration_file import SUFFIXES, ConfigurationFile
from verifygate.sources.file import SourceFile
from verifygate.sources.notebook import read_notebook
from verifygate.sources.outline import split
from verifygate.sources.tree import Sources
from verifygate.static.analysis_result import AnalysisResult
from verifygate.static.engine import Means, analyse
from verifygate.static.registry import load_rules
from verifygate.static.syntax.newer_python import downlevelled
from verifygate.static.syntax.parser import MAX_NESTING
from verifygate.static.syntax.traversal import deeper_than

ALL = RuleSelection()
FIRST = "train.py"


def sources_of(files: dict[str, bytes]) -> Sources:
    """The files as discovery would hand them over, in the order given."""
    found: list[SourceFile] = []
    lost: list[tuple[str, str]] = []
    beside: list[ConfigurationFile] = []
    for path, data in files.items():
        if path.endswith(SUFFIXES):
            beside.append(ConfigurationFile(path, data=data))
        elif path.endswith(".ipynb"):
            notebook = read_notebook(path, data)
            found += [notebook] if isinstance(notebook, SourceFile) else []
            lost += [(path, notebook)] if isinstance(notebook, str) else []
        else:
            found.append(SourceFile(path, data))
    return Sources(found, lost, beside)


def answer(files: dict[str, bytes], choice: RuleSelection = ALL, **options: bool) -> AnalysisResult:
    return analyse(sources_of(files), choice, **options)


def accounted(data: bytes) -> None:
    """Each file is analysed or listed, each finding stands in its file, and each format can be read back."""
    files = files_in(data, FIRST)
    sources = sources_of(files)
    told = analyse(sources, ALL)
    lost = {each.path: each.reason for each in told.not_analysed}
    assert len(lost) == len(told.not_analysed), "a file is listed twice"
    assert told.files_checked + sum(sources.get(path) is not None for path in lost) == len(sources), "a file is lost"
    assert all(reason and "\n" not in reason for reason in lost.values())
    for file in sources:
        _parsed_or_listed(file, lost.get(file.path, ""))
        _outlined(file)
    for finding in told.findings:
        _stands_in_its_file(finding, sources)
    prints = Counter(finding.fingerprint for finding in told.findings)
    assert not [each for each, count in prints.items() if count > 1], "two findings have one fingerprint"
    read_back(
        CheckReport(
            files_checked=told.files_checked,
            findings=told.findings,
            not_analysed=told.not_analysed,
            not_followed=told.not_followed,
            contract=told.contract,
        )
    )


def _is_text(data: bytes) -> bool:
    try:
        data.decode(tokenize.detect_encoding(io.BytesIO(data).readline)[0])
    except (SyntaxError, UnicodeDecodeError):
        return False
    return True


def _parsed_or_listed(file: SourceFile, reason: str) -> None:
    """A file that Python parses is analysed, and one that it does not is listed; a newer Python's is neither."""
    tree = parsed(file.data)
    if tree is not None and not deeper_than(tree, MAX_NESTING):
        refused = not _is_text(file.data)  # Python's parser does not decode the comments of bytes, but those of a file
        assert not reason or "runs a text" in reason or refused, f"Python parses it: {reason}"
    elif tree is None and not reason:
        assert downlevelled(file.text).needs, "Python does not parse it, and it counts as analysed"


def _outlined(file: SourceFile) -> None:
    """The definitions told from how lines begin are those that the parser finds; or none were told."""
    tree, spans = parsed(file.data), split(file.data)
    if tree is None or not spans or not file.is_plain:
        return
    kinds = {ast.FunctionDef: "function", ast.AsyncFunctionDef: "async function", ast.ClassDef: "class"}
    real = [(each.name.encode(), kinds[type(each)]) for each in tree.body if type(each) in kinds]
    assert [(span.name, span.kind) for span in spans] == real, "the outline differs from the syntax tree"


def _stands_in_its_file(finding: Finding, sources: Sources) -> None:
    file = sources.get(finding.path)
    lines = file.lines if file is not None else None
    if lines is None:
        return
    assert 1 <= finding.line <= finding.end_line <= max(1, len(lines)), "a finding outside its file"
    width = len(lines[finding.line - 1]) if lines else 0
    assert 1 <= finding.column <= width + 1, "a finding outside its line"


def parsed(data: bytes) -> ast.Module | None:
    """The tree of Python's own parser; None where it refuses."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(data)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


# --- the same answer


def unchanged(data: bytes) -> None:
    """What changes nothing of the program changes no finding: layout, file order, what else is asked."""
    files = files_in(data, FIRST)
    python = [path for path in files if path.endswith(".py")]
    if any(parsed(files[path]) is None for path in python):
        return
    told = answer(files)
    once = identities(told)
    random = Random(blake2b(data, digest_size=8).digest())  # noqa: S311 - the same for the same input
    assert identities(answer(files)) == once, "asked twice"
    assert identities(answer(dict(reversed(files.items())))) == once, "files in another order"
    assert identities(answer(files, means=Means(lets_go=True))) == once, "files let go of"
    assert identities(answer(files | {"zz_unrelated.py": b"def nothing():\n    return 1\n"})) == once, "a file more"
    _selected_alone(files, told)
    for path in python:
        if not SourceFile(path, files[path]).is_plain:
            continue
        looser = spread(files[path], random)
        if parsed(looser) is not None:
            assert identities(answer(files | {path: looser})) == once, "blank lines and comments added"
        written = rewritten(files[path])
        if written is not None:
            assert identities(answer(files | {path: written})) == once, "written anew by ast.unparse"


def _selected_alone(files: dict[str, bytes], told: AnalysisResult) -> None:
    """`--select` never changes what a rule finds. Where findings share a cause, what is selected decides who tells."""
    every = answer(files, merged=False)
    rules = sorted({finding.rule for finding in told.findings if not finding.rule.startswith("GATE")})
    for rule in rules[:2]:
        alone = answer(files, RuleSelection(select=(rule,)), merged=False)
        found = sorted(_identity(each) for each in alone.findings if each.rule == rule)
        assert found == sorted(_identity(each) for each in every.findings if each.rule == rule), "selected alone"


def identities(told: AnalysisResult) -> list[tuple[str, ...]]:
    """The findings without their lines, sorted."""
    return sorted(_identity(each) for each in told.findings)


def _identity(finding: Finding) -> tuple[str, ...]:
    return finding.path, finding.rule, finding.symbol, finding.severity, finding.certainty, finding.fingerprint


def spread(data: bytes, random: Random) -> bytes:
    """The source with blank lines and comments between its logical lines."""
    starts = _line_starts(data)
    lines = data.split(b"\n")
    for at in sorted(random.sample(sorted(starts), min(len(starts), 6)), reverse=True):
        indent = lines[at - 1][: len(lines[at - 1]) - len(lines[at - 1].lstrip(b" \t"))]
        lines[at - 1 : at - 1] = random.choice(([b""], [indent + b"# a remark"], [b"", b"# one more", b""]))
    return b"\n".join(lines)


def _line_starts(data: bytes) -> set[int]:
    """The numbers of the lines on which a logical line begins, and that no suppression stands above."""
    if b"verifygate:" in data.lower() or b"noqa" in data.lower() or b"\r" in data or b"\f" in data:
        return set()
    try:
        tokens = list(tokenize.generate_tokens(io.StringIO(data.decode()).readline))
    except (UnicodeDecodeError, tokenize.TokenError, SyntaxError):
        return set()
    starts: set[int] = set()
    begins = True
    for token in tokens:
        if token.type in (tokenize.NL, tokenize.COMMENT, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER):
            continue
        if begins:
            starts.add(token.start[0])
        begins = token.type == tokenize.NEWLINE
    return starts


_WORDS = {word.encode() for each in load_rules().values() for word in each.rule.words} | {b"autocast", b"unscale_"}


def rewritten(data: bytes) -> bytes | None:
    """The source as `ast.unparse` writes it, without comments; None where a comment says something to the gate.

    A comment with a word of AMP does: a file is looked at for the words in it.
    """
    lowered = data.lower()
    if any(word in lowered for word in (b"verifygate:", b"noqa", b"# requirement", b"type:", b"coding")):
        return None
    tree = parsed(data)
    try:
        text = ast.unparse(tree).encode() if tree is not None else b""
    except (RecursionError, ValueError):
        return None
    again = parsed(text)
    if any(word in data and word not in text for word in _WORDS):
        return None
    return text if again is not None and tree is not None and ast.dump(again) == ast.dump(tree) else None
