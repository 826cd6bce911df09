"""Files and lines that a report cites: are they there, and does the code beside the citation stand on them?"""

from __future__ import annotations

import re
from collections.abc import Sequence

from verifygate.claims.ledger import Ledger, short
from verifygate.claims.markdown import CodeBlock, Document, Sentence
from verifygate.claims.places import Place, places
from verifygate.claims.text_files import Tree, TreeFile
from verifygate.model.claims import ClaimKind, ClaimVerdict

NO_TREE = "no source tree given"
_NOT_YET = re.compile(
    r"\b(?:add(?:ed|ing)?|creat\w+|should|will|would|could|propos\w+|plan\w*|to be|remov\w+"
    r"|delet\w+|renam\w+|moved?|former\w*|previous\w*"
    r"|was|were|old|before|missing|no longer|does not exist|not found|TODO)\b",
    re.IGNORECASE,
)
"""Words after which a file may rightly be absent."""
_PROPOSED = re.compile(
    r"\b(?:fix\w*|should|expected|required?|recommend\w*|propos\w+|suggest\w*|missing|example"
    r"|instead|after|add|new|change to|solution"
    r"|remediation|correct\w*|improv\w+|better|option|output|trace\w*|before|previous\w*|old|original\w*|prior|buggy|resolv\w+|template|usage)\b",
    re.IGNORECASE,
)
"""Words after which a code block need not stand in the file."""
_ALIEN = re.compile("[\u0370-\u1fff\u2e80-\uffdc]")
"""Letters of other scripts: what such words say of a code block, as it was or as it will be, is not understood."""
_NOT_SOURCE = frozenset(
    {"bash", "sh", "shell", "console", "text", "txt", "output", "diff", "json", "log", "mermaid", "markdown", "md"}
)
NEAR = 3
"""So many lines off, a citation is called imprecise and not wrong."""
_AFTER = re.compile(r"^\s*(?:function|method|class|call|parameter)?\s*[(,:–-]*\s*(?:at|on|in)?\s*$", re.IGNORECASE)
_BEFORE = re.compile(r"^\s*[:–-]+\s*$")
_SHORTEST = 8


def extract(document: Document, ledger: Ledger, tree: Tree | None) -> None:
    found = list(places(document))
    for place in found:
        _cited(ledger, tree, place)
    for block in document.blocks:
        cited = _place_of(block, found)
        if cited is not None and block.language not in _NOT_SOURCE:
            _quoted(ledger, tree, cited, block)


# --- citations


def _cited(ledger: Ledger, tree: Tree | None, place: Place) -> None:
    def say(verdict: ClaimVerdict, reason: str) -> None:
        words = place.words if place.path in place.words else f"{place.path}, {place.words}".lstrip(", ")
        ledger.add(place.sentence.on(place.line), ClaimKind.REFERENCE, verdict, reason, words=words)

    if tree is None:
        return say(ClaimVerdict.INCONCLUSIVE, NO_TREE)
    file, verdict, reason = _file(tree, place)
    if file is None:
        return say(verdict, reason)
    length = len(file.lines) - (not file.lines[-1])
    beyond = [high for _, high in place.ranges if high > length]
    if beyond:
        return say(ClaimVerdict.REFUTED, f"{file.path} has {length} lines")
    return say(*_beside(file, place))


def _file(tree: Tree, place: Place) -> tuple[TreeFile | None, ClaimVerdict, str]:
    """The one file that is meant; else how the citation stands without it."""
    unsure = ClaimVerdict.INCONCLUSIVE
    if not place.path:
        return None, unsure, "the report does not say in which file"
    files = tree.named(place.path)
    if len(files) == 1:
        return files[0], unsure, ""
    if files:
        return None, unsure, f"{len(files)} files have that name: {', '.join(file.path for file in files[:3])}"
    if place.foreign or tree.hidden(place.path):
        return None, unsure, "the file is not one of the source tree's"
    if _NOT_YET.search(place.sentence.prose):
        return None, unsure, "there is no such file; the sentence may speak of another time"
    if "/" in place.path and tree.has_folder(place.path):
        return None, ClaimVerdict.REFUTED, f"its folder holds no such file ({len(tree.files)} files searched)"
    return None, unsure, f"no such file in the source tree ({len(tree.files)} files searched)"


def _beside(file: TreeFile, place: Place) -> tuple[ClaimVerdict, str]:
    """The code in backticks right beside the citation, against the lines cited."""
    first = next(
        (
            file.lines[n - 1].strip()
            for low, high in place.ranges
            for n in range(low, high + 1)
            if file.lines[n - 1].strip()
        ),
        "",
    )
    there = (
        f"{file.path} has these lines: `{short(first, 60)}`"
        if first
        else f"{file.path} has these lines, and they are empty"
    )
    code = _adjacent_code(place)
    if code is None:
        return ClaimVerdict.CONFIRMED, there
    name = re.fullmatch(r"(?:[\w.]+\.)?(\w+)\(\)", code)
    wanted = name[1] if name else code
    if name:
        for start, end in file.definitions.get(wanted, []):
            if any(low <= end and start <= high for low, high in place.ranges):
                return ClaimVerdict.CONFIRMED, f"`{wanted}` is defined on lines {start}-{end} of {file.path}"
    lines = _lines_with(file, wanted)
    if any(low <= line <= high for line in lines for low, high in place.ranges):
        return ClaimVerdict.CONFIRMED, f"`{short(wanted, 60)}` stands there in {file.path}"
    if not lines:
        return (
            ClaimVerdict.INCONCLUSIVE,
            f"{file.path} has these lines, but nowhere `{short(wanted, 60)}`, as it is written here",
        )
    closest = min(lines, key=lambda line: min(abs(line - edge) for bounds in place.ranges for edge in bounds))
    off = min(abs(closest - edge) for bounds in place.ranges for edge in bounds)
    at = f"`{short(wanted, 60)}` stands on line {closest} of {file.path}, not {place.told}"
    return (ClaimVerdict.INCONCLUSIVE if off <= NEAR else ClaimVerdict.REFUTED), at


def _adjacent_code(place: Place) -> str | None:
    """`` `x` (line 5) `` or ``line 5: `x` ``, where the citation is the sentence's only one."""
    text = place.sentence.text
    for match in re.finditer(r"`([^`\n]+)`", text):
        if place.path and place.path in match[1]:
            continue
        if (match.end() <= place.start and _AFTER.match(text[match.end() : place.start])) or (
            match.start() >= place.end and _BEFORE.match(text[place.end : match.start()])
        ):
            return match[1].strip()
    return None


def _lines_with(file: TreeFile, code: str) -> list[int]:
    head = re.split(r"\.\.\.|…", code)[0]
    wanted = squeezed(head)
    if len(wanted) < 2:
        return []
    if re.fullmatch(r"\w+", head.strip()):
        pattern = re.compile(rf"(?<!\w){re.escape(head.strip())}(?!\w)")
        return [number for number, line in enumerate(file.lines, 1) if pattern.search(line)]
    return [number for number, line in enumerate(file.lines, 1) if wanted in squeezed(line)]


def squeezed(code: str) -> str:
    """Without white space, and with one kind of quotation mark: a quotation may be laid out anew."""
    return re.sub(r"\s+", "", code).replace('"', "'")


# --- quoted code


def _place_of(block: CodeBlock, found: Sequence[Place]) -> Place | None:
    """The citation in the words directly above the block, or in the heading above these."""
    before = block.before
    if before is None:
        return None
    direct = [place for place in found if place.sentence is before]
    if len(direct) == 1:
        return direct[0]
    heading = [
        p
        for p in found
        if p.sentence.role == "heading"
        and p.sentence.line == block.section.line
        and before.index <= p.sentence.index + 1
    ]
    return heading[0] if not direct and len(heading) == 1 else None


def _quoted(ledger: Ledger, tree: Tree | None, place: Place, block: CodeBlock) -> None:
    lines = [line for line in map(_code_of, block.lines) if len(line) >= _SHORTEST]
    if not lines:
        return None
    words = (
        f"{place.path or place.words}: {next(line.strip() for line in block.lines if len(_code_of(line)) >= _SHORTEST)}"
    )

    def say(verdict: ClaimVerdict, reason: str) -> None:
        sentence: Sentence = place.sentence
        ledger.add(sentence.on(block.line), ClaimKind.QUOTE, verdict, reason, words=words)

    if tree is None:
        return say(ClaimVerdict.INCONCLUSIVE, NO_TREE)
    file, _, reason = _file(tree, place)
    if file is None:
        return say(ClaimVerdict.INCONCLUSIVE, reason)
    whole = squeezed("".join(file.code_lines)) + squeezed(file.text)
    standing = [line for line in lines if line in whole]
    counted = f"{len(standing)} of {len(lines)} quoted lines stand in {file.path}"
    comments = [line for line in block.lines if "#" in line]
    about = [place.sentence.prose, block.before.prose if block.before else "", block.section.titles, block.lines[0]]
    proposed = any(_PROPOSED.search(text) for text in (*about, *comments))
    proposed = proposed or _ALIEN.search(" ".join(about)) is not None
    if len(standing) < len(lines):
        none = not standing and len(lines) > 1 and not proposed and not any("..." in line for line in block.lines)
        return say(ClaimVerdict.REFUTED if none else ClaimVerdict.INCONCLUSIVE, counted)
    cited = squeezed(
        "\n".join(
            file.lines[n - 1]
            for low, high in place.ranges
            for n in range(max(1, low - NEAR), min(high + NEAR, len(file.lines)) + 1)
        )
    )
    if any(line in cited for line in lines):
        return say(ClaimVerdict.CONFIRMED, f"{counted}, at the lines cited")
    at = next((number for number, line in enumerate(file.lines, 1) if lines[0][:40] in squeezed(line)), 0)
    where = f"from line {at} on, not" if at else "but not on"
    return say(
        ClaimVerdict.INCONCLUSIVE if proposed or not at else ClaimVerdict.REFUTED,
        f"the code stands in {file.path} {where} {place.told}",
    )


def _code_of(line: str) -> str:
    """A quoted line as it is compared: without its comment."""
    return (
        squeezed(re.sub(r"(?:^|\s)(?:#|//).*$", "", line))
        if "'" not in line or "#" in line.rpartition("'")[2]
        else squeezed(line)
    )
