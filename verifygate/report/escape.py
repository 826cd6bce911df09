"""Make any text safe for one kind of output. Everything a report prints goes through exactly one of these.

Test names, paths and messages come from the audited project, and whoever writes those may want a table to show a
row that is not there. So: nothing invisible survives, nothing can end the cell, span, block or attribute it is in,
nothing becomes a mention or a link that the gate did not make, and nothing is endless.
"""

from __future__ import annotations

import re
import unicodedata
from pathlib import PurePosixPath

from verifygate.base.digests import digest_of

SHORT = 200
"""Characters kept of a name or a path."""
LONG = 2_000
"""Characters kept of a sentence."""
BLOCK = 20_000
"""Characters kept of a block of output."""

_ANSI = re.compile(
    "\x1b\\[[0-?]*[ -/]*[@-~]"  # control sequences: colours, cursor moves
    "|\x1b\\][^\x07\x1b]*(?:\x07|\x1b\\\\)?"  # operating system commands: titles, links
    "|\x1b[@-Z\\\\-_]"  # other two-character escapes
)
_WHITE = re.compile(r"\s+")
_LINE_START = r"^(?:[=#:]|[-+](?=[\s-]|$)|\d+(?=[.)](?:\s|$)))"
_SPAN = r"(`+)(?!`)(.+?)(?<!`)\1(?!`)"
_LIVE = r"@(?=\w)|#(?=\d)|:(?=//)|\b[wW]{3}(?=\.)"
"""Where a mention, an issue number or an address begins. Renderers look for these in the text that is left after all
escapes, and leave code alone: so a word with one becomes code, which can be copied as it stands."""
_LIVE_WORD = rf"\S*(?:{_LIVE})\S*"
_ELSEWHERE = {("site-packages",), ("...",), ("~",), ("<temp>",)}
"""What begins the path of a file that the project does not hold, as runs write it (`execution/scrub.py`)."""
_NOT_XML = "[\ufffe\uffff]"


def plain(text: str, limit: int = SHORT) -> str:
    """One line with nothing in it that a terminal or browser would obey or hide; cut at `limit` with a hash."""
    return cap(_visible(_WHITE.sub(" ", _ANSI.sub("", text)), keep="").strip(), limit)


def lines(text: str, limit: int = BLOCK) -> str:
    """Like `plain`, but lines stay lines and tabs stay tabs."""
    text = _ANSI.sub("", text).replace("\r\n", "\n").replace("\r", "\n")
    return cap(_visible(text, keep="\n\t"), limit)


def spans(text: str, limit: int = LONG) -> list[tuple[str, bool]]:
    """A clean line in pieces; true for those that the author put between backticks."""
    text = plain(text, limit)
    pieces: list[tuple[str, bool]] = []
    end = 0
    for span in re.finditer(_SPAN, text):
        pieces += [(text[end : span.start()], False), (span[2].strip(), True)]
        end = span.end()
    return [*((piece, code) for piece, code in pieces if piece), (text[end:], False)]


def cap(text: str, limit: int) -> str:
    """Cut a text that is too long; the hash keeps two long texts with the same beginning apart."""
    if len(text) <= limit:
        return text
    digest = digest_of(text)[:8]
    return f"{text[:limit].rstrip()}… [{len(text)} characters, sha256 {digest}]"


def _visible(text: str, keep: str) -> str:
    """NFC, without control, format (bidirectional, zero width), surrogate and private characters."""
    if text.isascii() and text.isprintable():
        return text
    kept = (character for character in text if character in keep or _shows(character))
    return unicodedata.normalize("NFC", "".join(kept))


def _shows(character: str) -> bool:
    return unicodedata.category(character) not in ("Cc", "Cf", "Cs", "Co", "Cn")


# --- Markdown (GitHub's)


def md_text(text: str, limit: int = LONG) -> str:
    """Words in a paragraph, a list item or a table cell: rendered as themselves, with no markup, mention or link."""
    return _md_inline(plain(text, limit))


def md_prose(text: str, limit: int = LONG) -> str:
    """Like `md_text`, but what the author put between backticks is shown as code."""
    pieces = [each for each in spans(text, limit) if each[0]]
    last = len(pieces) - 1
    return "".join(
        md_code(piece, limit) if code else _md_inline(piece, start=index == 0, touches=(index > 0, index < last))
        for index, (piece, code) in enumerate(pieces)
    )


def md_code(text: str, limit: int = SHORT) -> str:
    """Inline code, in a table cell too: there a pipe ends the cell even inside backticks, so such code has tags."""
    text = plain(text, limit)
    if not text:
        return ""
    if "|" in text:
        return _code_by_tags(text)
    fence = "`" * (_longest_run(text, "`") + 1)
    pad = " " if text.startswith("`") or text.endswith("`") else ""
    return f"{fence}{pad}{text}{pad}{fence}"


def md_fence(text: str, language: str = "", limit: int = BLOCK) -> str:
    """A code block that its content cannot end. Stands at the beginning of a line."""
    text = lines(text, limit).strip("\n")
    fence = "`" * max(3, _longest_run(text, "`") + 1)
    return f"{fence}{language}\n{text}\n{fence}"


def md_link(path: str, line: int | None, prefix: str) -> str:
    """A link to a line of a file, from a report that lies `prefix` below the root; no link where none could work."""
    shown = plain(path) if line is None else f"{plain(path)}:{line}"
    target = link_target(path, line, prefix)
    return f"[{_md_inline(shown, start=False)}]({target})" if target else md_code(shown)


def link_target(path: str, line: int | None, prefix: str) -> str:
    """The address of a line of a file in the project; empty for a path that leaves the project.

    `prefix` is the way to the project's root, or its address on the web: with any other scheme there is no link.
    """
    pure = PurePosixPath(path)
    foreign = ":" in prefix and not prefix.startswith(("https://", "http://"))
    elsewhere = pure.is_absolute() or ".." in pure.parts or pure.parts[:1] in _ELSEWHERE
    if not path or len(path) > LONG or elsewhere or foreign:
        return ""
    from urllib.parse import quote  # not at the top, nor html: what a terminal is shown needs neither

    address = quote(prefix, safe="/:%", errors="replace") + quote(path, safe="/", errors="replace")
    return f"{address}#L{line}" if line else address


def _md_inline(text: str, *, start: bool = True, touches: tuple[bool, bool] = (False, False)) -> str:
    """Escape a clean line. `start`: it may stand where a list, heading or rule could begin.

    `touches`: whether code comes right before it, and right behind it.
    """
    pieces: list[str] = []
    end = 0
    for live in re.finditer(_LIVE_WORD, text):
        before, after = text[live.start() - 1 : live.start()].strip(), text[live.end() : live.end() + 1].strip()
        # Backticks that touch those of a neighbour would be one longer fence.
        joined = (touches[0] and live.start() == 0) or (touches[1] and live.end() == len(text))
        alone = not before and not after and not joined
        pieces += [_md_words(text[end : live.start()]), md_code(live[0], LONG) if alone else _code_by_tags(live[0])]
        end = live.end()
    line = "".join([*pieces, _md_words(text[end:])])
    return re.sub(_LINE_START, lambda head: _head(head[0]), line) if start else line


def _code_by_tags(text: str) -> str:
    return f"<code>{''.join(map(_in_tags, text))}</code>"


def _md_words(text: str) -> str:
    text = text.replace("\\", "\\\\")
    text = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace("|", "&#124;")
    text = re.sub(r"([`*\[\]~$])", r"\\\1", text)
    return re.sub("_+", _underscores, text)


def _underscores(run: re.Match[str]) -> str:
    """Between letters an underscore is only itself; elsewhere it may open or close emphasis."""
    text, (begin, end) = run.string, run.span()
    inside = begin > 0 and end < len(text) and _word(text[begin - 1]) and _word(text[end])
    return run[0] if inside else "\\_" * len(run[0])


def _word(character: str) -> bool:
    return character.isascii() and character.isalnum()


def _head(head: str) -> str:
    return f"{head}\\" if head[0].isdigit() else f"\\{head}"


_INERT = frozenset(" ,;()=+-/'\"")
"""What begins nothing between two tags, so that code stays readable where nobody renders it."""


def _in_tags(character: str) -> str:
    return character if _word(character) or character in _INERT else f"&#{ord(character)};"


def _longest_run(text: str, character: str) -> int:
    return max((len(run) for run in re.findall(f"{re.escape(character)}+", text)), default=0)


# --- the others


def html_text(text: str, limit: int = LONG) -> str:
    """Text, or a quoted attribute, in HTML."""
    import html

    return html.escape(plain(text, limit), quote=True)


def xml_text(text: str, limit: int = LONG) -> str:
    """Text that XML 1.0 can hold; the XML writer escapes the markup itself."""
    return re.sub(_NOT_XML, "", lines(text, limit))


def workflow_data(text: str, limit: int = LONG) -> str:
    """The message of a GitHub workflow command: it cannot end the line and begin another command."""
    return plain(text, limit).replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def workflow_property(text: str, limit: int = SHORT) -> str:
    """A property of a GitHub workflow command (`file`, `title`): it cannot end the property either."""
    return workflow_data(text, limit).replace(":", "%3A").replace(",", "%2C")
