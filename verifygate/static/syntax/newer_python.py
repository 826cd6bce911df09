"""Downlevelling: source for a newer Python, rewritten into what the parser of this interpreter knows.

Every line keeps its number; columns behind a change may move. What is lost has no part in the analysis: type
parameters, what a type alias is lazy about, and the escapes in strings inside a replacement field.
"""

from __future__ import annotations

import re

from verifygate.base.records import field, record

_TOKEN = re.compile(
    r"""(?P<string>(?<![\w.])(?P<prefix>[rRbBuUfFtT]{0,2})(?P<quote>\"{3}|'{3}|["']))"""
    r"""|(?P<comment>\#[^\n]*)|(?P<word>[^\W\d]\w*)|(?P<joined>\\\r?\n)|(?P<blank>[ \t\f]+)|(?P<other>[\s\S])"""
)
_PARAMETRISED = re.compile(r"(?:def|class)[ \t]+\w+[ \t]*\[")
_ALIAS = re.compile(
    r"type(?P<gap>[ \t]+)(?P<name>(?!(?:is|in|and|or|if|else|for|not)\b)[^\W\d]\w*)[ \t]*(?=[\[=])(?!==)"
)
_HANDLER = re.compile(r"except(?P<star>[ \t]*\*)?[ \t]+(?!\()")
_OPENING, _CLOSING = "([{", ")]}"
MAX_NESTING = 20
"""F-strings inside f-strings; deeper ones are not rewritten."""


@record
class Downlevelled:
    """Source as this interpreter's parser can read it, and what of the original it cannot."""

    code: str
    needs: str
    """`Python 3.12: type parameters`; empty where nothing newer was seen."""


class NotRewritableError(Exception):
    """No rewriting was found."""


def downlevelled(code: str) -> Downlevelled:
    """Rewrite the constructs of Python 3.12 to 3.14. What cannot be rewritten stays as it is."""
    reader = _Reader(code)
    try:
        text = reader.statements()
    except NotRewritableError:
        text = code
    if text.count("\n") != code.count("\n"):
        text = code
    return Downlevelled(text, reader.needs)


@record(frozen=False)
class _Enclosing:
    """An f-string around what is read: its delimiter, and what of its replacement fields is newer than its Python."""

    quote: str
    is_newer: bool = False


@record(frozen=False, eq=False)
class _Reader:
    """Reads the source once, from the start to its end."""

    code: str
    at: int = 0
    features: dict[str, str] = field(default_factory=dict)
    """What was seen -> the Python that it needs."""
    around: list[_Enclosing] = field(default_factory=list)

    @property
    def needs(self) -> str:
        if not self.features:
            return ""
        version = max(self.features.values(), key=lambda each: tuple(map(int, each.split("."))))
        return f"Python {version}: {', '.join(self.features)}"

    def statements(self) -> str:
        """The whole source."""
        made: list[str] = []
        depth, fresh = 0, True
        while self.at < len(self.code):
            if fresh and (statement := self._statement()) is not None:
                made.append(statement)
                fresh = False
                continue
            kind, text = self._token()
            made.append(text)
            if kind == "other":
                depth += (text in _OPENING) - (text in _CLOSING)
                fresh = not depth and (text in ";\n" or (fresh and text == "\r"))
            elif kind not in ("blank", "joined", "comment") and text != "async":
                fresh = False
        return "".join(made)

    def _statement(self) -> str | None:
        """The rewritten beginning of a statement that begins here, if it is a newer one."""
        if found := _PARAMETRISED.match(self.code, self.at):
            self.at = found.end() - 1
            return found[0][:-1] + self._type_parameters()
        if found := _ALIAS.match(self.code, self.at):
            self.features["type aliases"] = "3.12"
            self.at = found.end()
            padded = f"{found['name']}    {found['gap']}"
            return padded + (self._type_parameters() if self.code[self.at] == "[" else "")
        if found := _HANDLER.match(self.code, self.at):
            return self._handler(found)
        return None

    def _type_parameters(self) -> str:
        """What stands for a list of type parameters that begins here: blanks, on as many lines."""
        self.features["type parameters"] = "3.12"
        text = self._bracketed()
        if re.search(r"[^=!<>:]=[^=]", text):
            self.features["defaults of type parameters"] = "3.13"
        return re.sub(r"\r?\n", "\\\\\n", re.sub(r"[^\r\n]", " ", text))

    def _bracketed(self) -> str:
        """The brackets that begin here, with what is inside them."""
        made: list[str] = []
        depth = 0
        while self.at < len(self.code):
            kind, text = self._token()
            made.append(text)
            if kind == "other":
                depth += (text in _OPENING) - (text in _CLOSING)
                if not depth:
                    return "".join(made)
        raise NotRewritableError

    def _handler(self, found: re.Match[str]) -> str | None:
        """`except A, B:` with brackets around its types."""
        start, self.at = self.at, found.end()
        made: list[str] = []
        depth, several = 0, False
        while self.at < len(self.code):
            kind, text = self._token()
            if kind == "other":
                depth += (text in _OPENING) - (text in _CLOSING)
                several = several or (text == "," and not depth)
                if text == "\n" and not depth:
                    break
                if text == ":" and not depth and several:
                    self.features["`except` of several types without brackets"] = "3.14"
                    return f"except{found['star'] or ''}({''.join(made)}):"
            made.append(text)
        self.at = start
        return None

    def _token(self) -> tuple[str, str]:
        """The next token, rewritten, and its kind."""
        found = _TOKEN.match(self.code, self.at)
        assert found is not None  # noqa: S101 - the last alternative matches anything
        kind = str(found.lastgroup if found.lastgroup not in ("prefix", "quote") else "string")
        if kind == "string":
            return kind, self._string(found)
        self.at = found.end()
        text = found[0]
        if self.around and kind in ("comment", "joined"):
            self.around[-1].is_newer = True
            return kind, re.sub(r"[^\r\n]", " ", text)
        if self.around and text == "\n" and len(self.around[-1].quote) == 1:
            self.around[-1].is_newer = True
        return kind, text

    def _string(self, found: re.Match[str]) -> str:
        prefix, quote = found["prefix"], found["quote"]
        self.at = found.end()
        if "t" in prefix.lower():
            self.features["template strings"] = "3.14"
            prefix = prefix.replace("t", "f").replace("T", "F")
        if "f" not in prefix.lower():
            return self._inside_a_field(prefix, quote, self._plain(quote))
        if len(self.around) >= MAX_NESTING:
            raise NotRewritableError
        here = _Enclosing(quote)
        body = self._formatted(here, quote, raw="r" in prefix.lower())
        if here.is_newer:
            self.features["f-strings with any expression"] = "3.12"
            quote = _tripled(quote, {each.quote for each in self.around}, body)
        return self._inside_a_field(prefix, quote, body)

    def _inside_a_field(self, prefix: str, quote: str, body: str) -> str:
        """A string as it can stand where it does: inside a replacement field not as any string can."""
        if self.around:
            outer = self.around[-1]
            if "\\" in body:
                outer.is_newer, body = True, body.replace("\\", "_")
            if any(quote[0] == each.quote for each in self.around) or quote in {each.quote for each in self.around}:
                outer.is_newer = True
            if len(quote) == 3 and any(each.quote[0] == quote[0] for each in self.around):
                quote = _tripled("'" if quote[0] == '"' else '"', set(), body)
            if "\n" in body and len(outer.quote) == 1:
                outer.is_newer = True
        return f"{prefix}{quote}{body}{quote}"

    def _plain(self, quote: str) -> str:
        """The rest of a string, without the quotes that end it."""
        start = self.at
        while self.at < len(self.code):
            if self.code.startswith(quote, self.at):
                self.at += len(quote)
                return self.code[start : self.at - len(quote)]
            if self.code[self.at] == "\n" and len(quote) == 1:
                break
            self.at += 2 if self.code[self.at] == "\\" else 1
        raise NotRewritableError

    def _formatted(self, here: _Enclosing, quote: str, *, raw: bool) -> str:
        """The rest of an f-string, without the quotes that end it."""
        made: list[str] = []
        while self.at < len(self.code):
            rest = self.code[self.at : self.at + 3]
            if rest.startswith(quote):
                self.at += len(quote)
                return "".join(made)
            if rest[0] == "\n" and len(quote) == 1:
                break
            if rest[:2] in ("{{", "}}") or (rest[0] == "\\" and not (raw and rest[1:2] == "{")):
                step = 2
                if rest[:2] == "\\N" and not raw and rest[2:3] == "{":
                    step = self.code.index("}", self.at) + 1 - self.at if "}" in self.code[self.at :] else 3
                made.append(self.code[self.at : self.at + step])
                self.at += step
            elif rest[0] == "{":
                made.append(self._replacement_field(here))
            else:
                made.append(rest[0])
                self.at += 1
        raise NotRewritableError

    def _replacement_field(self, here: _Enclosing) -> str:
        """A replacement field, from its opening to its closing brace."""
        self.around.append(here)
        made, depth, in_format = ["{"], 0, False
        self.at += 1
        while self.at < len(self.code):
            char = self.code[self.at]
            if in_format and char not in "{}":
                if char == "\n" or self.code.startswith(here.quote, self.at):
                    break
                made.append(char)
                self.at += 1
            elif in_format and char == "{":
                self.around.pop()
                made.append(self._replacement_field(here))
                self.around.append(here)
            elif char == "}" and not depth:
                self.at += 1
                self.around.pop()
                return "".join(made) + "}"
            else:
                kind, text = self._token()
                made.append(text)
                if kind == "other":
                    depth += (text in _OPENING) - (text in _CLOSING)
                    in_format = text == ":" and not depth
        raise NotRewritableError


def _tripled(quote: str, taken: set[str], body: str) -> str:
    """Three quotes in which a body can stand: of the same kind, or else of the other."""
    for char in (quote[0], "'" if quote[0] == '"' else '"'):
        if char * 3 not in taken and char * 3 not in body and not body.endswith(char):
            return char * 3
    raise NotRewritableError
