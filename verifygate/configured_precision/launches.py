"""The command lines that start a framework: what each hands it, sets beside that, and leaves to a variable."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Collection, Iterator, Mapping
from functools import cached_property
from typing import NamedTuple

from verifygate.base.records import record
from verifygate.configured_precision.command_lines import CommandLine, command_lines
from verifygate.configured_precision.framework_table import Framework, frameworks
from verifygate.configured_precision.hydra import NotComposed
from verifygate.model import NotFollowed
from verifygate.sources.configuration_file import ConfigurationFile

DOCUMENTS = (".yaml", ".yml", ".json", ".toml")
_LAUNCHER = re.compile(r"\baccelerate\s+launch\b(?P<options>[^;&|]*)$")
_OF_LAUNCHER = {
    "config_file": "",
    "mixed_precision": "mixed_precision",
    "use_fsdp": "distributed_type",
    "use_deepspeed": "distributed_type",
    "zero_stage": "deepspeed_config.zero_stage",
}
"""Options of `accelerate launch` -> the key of its configuration that each sets."""
_DISTRIBUTED = {"use_fsdp": "FSDP", "use_deepspeed": "DEEPSPEED"}
_EXEC_FORM = re.compile(r"""["']\s*,\s*["']""")
"""What stands between the words of `CMD ["axolotl", "train", "a.yml"]`."""
_CONFIG_PATH = re.compile(r"--config-(?:path|dir)[ =](?P<folder>\S+)|(?P<program>\S+)\.py\b")
_STARTED = re.compile(
    r"\b(?:python[\d.]*|torchrun|accelerate|deepspeed)\s(?:[^;&|]*?\s)??(?P<program>[^\s=]+\.py|-m\s+[\w.]+)(?P<options>[^;&|]*)"
)
_SET_IN_HYDRA = re.compile(r"(?<!\S)\+{0,2}(?P<key>[A-Za-z_][\w./]*)=\S+")
_PRINTED = re.compile(r"(?:^|[;&|({:@])\s*(?:echo|printf)\s[^;&|]*$")
_QUOTES = re.compile(r"""[\["'\]]""")


@record
class Launch:
    """A command line that hands a file to a framework."""

    framework: Framework
    file: str
    more: tuple[str, ...]
    """Files that it names after that one, and that override it."""
    path: str
    line: int
    given: Mapping[str, tuple[str, str, int]]
    words: Mapping[str, tuple[str, str, int]]
    """Words of the command line that rows ask for as `launched:`."""
    accelerate: str
    """The configuration of the launcher that it names, as it is written, or nothing."""
    unsure: str
    """What it hands over by a variable, or nothing."""

    @property
    def has_overrides(self) -> bool:
        """Whether it sets something beside the file, or names further files."""
        return bool(self.given or self.more)

    @property
    def identity(self) -> str:
        """What tells it from others that hand over this file: its place where it sets more, else what it starts."""
        if self.has_overrides or self.file == self.path:
            return f"{self.path}:{self.line}"
        return " ".join((self.accelerate, *(word for word, _, _ in self.words.values())))


class _Server(NamedTuple):
    """A command line that starts an engine which samples."""

    framework: str
    is_by_file: bool
    file: str
    """The configuration that it is handed, where it takes one and that is here."""
    options: Mapping[str, str]
    place: tuple[str, int]


class Launches:
    """The command lines in some files, by path."""

    def __init__(self, files: Mapping[str, ConfigurationFile]) -> None:
        self._files = files
        self.by_variable: dict[str, str] = {}
        """Framework -> what a command line launches that names its file by a variable."""
        self.unread: list[tuple[Framework, NotFollowed]] = []
        """The command lines that hand it a file which is none of those here."""

    @cached_property
    def all(self) -> list[Launch]:
        """Every command line that hands a file to a framework, or trains without one, in order of place."""
        return [launch for file in self._scripts for launch in self._launches_in(file)]

    @cached_property
    def _scripts(self) -> list[ConfigurationFile]:
        scripts = [each for each in self._files.values() if each.is_script and not each.is_test]
        return sorted(scripts, key=lambda each: each.path)

    def _launches_in(self, file: ConfigurationFile) -> Iterator[Launch]:
        for line in command_lines(file, self._files.get):
            text = _as_the_shell_sees(line)
            for framework in frameworks():
                hits = ((number, re.search(each, text)) for number, each in enumerate(framework.launch))
                number, hit = next(((number, hit) for number, hit in hits if hit), (0, None))
                if hit is None:
                    hit = next((hit for each in framework.alone for hit in [re.search(each, text)] if hit), None)
                    if hit is not None and not _is_printed(hit):
                        yield self._launch(framework, hit, line, file.path)
                elif _is_printed(hit):
                    continue
                elif self._named_in(text, hit["file"], file.path):
                    yield self._launch(framework, hit, line, file.path)
                else:
                    place = (file.path, _line_of(line, hit["file"]))
                    self._note_unread(framework, hit["file"], place, is_its_own=number == 0 and framework.owns_line)

    def _launch(self, framework: Framework, hit: re.Match[str], line: CommandLine, script: str) -> Launch:
        """What a command line that a pattern of the table matches starts: by a file, or by what it sets alone."""
        text = hit.string
        name = hit.groupdict().get("file") or ""
        path = self._named_in(text, name, script) if name else script
        number = _line_of(line, name or hit[0].split()[0])
        launcher = _LAUNCHER.search(text[: hit.start()])
        options = dict(_given(launcher["options"], _OF_LAUNCHER)) if launcher is not None else {}
        accelerate = options.pop("config_file", "")
        command = re.split(r"[;&|]", text[hit.start() :])[0]
        said = {f"accelerate:{_OF_LAUNCHER[key]}": _DISTRIBUTED.get(key, options[key]) for key in options}
        said |= _given(command, framework.keys)
        words = {f"launched:{key}": word for key, word in hit.groupdict().items() if key != "file" and word}
        unsure = ""
        if "$" in (command.replace(name, "") if name else command):
            unsure = f"unless what {script}:{number} hands over by a variable sets it"
        elif line.default:
            unsure = f"unless `{line.default}` of {script}:{number} is set otherwise"
        further = re.finditer(framework.more, text[hit.end() :]) if framework.more and name else ()
        return Launch(
            framework=framework, file=path, path=script, line=number, accelerate=accelerate, unsure=unsure,
            more=tuple(self.found(each["file"], script) or each["file"] for each in further),
            given={key: (value, script, _line_of_key(line, key, number)) for key, value in said.items()},
            words={key: (value, script, number) for key, value in words.items()},
        )  # fmt: skip

    def _note_unread(self, framework: Framework, name: str, place: tuple[str, int], *, is_its_own: bool) -> None:
        """Keep that a command line hands a file to a framework which is none of those here."""
        is_open = "$" in name
        if is_open:
            unsure = f"unless it is the file that {place[0]}:{place[1]} names by a variable, and that sets more"
            self.by_variable.setdefault(framework.name, unsure)
        if is_its_own:
            reason = f"{framework.name} trains by `{name}`, which is {'named when it runs' if is_open else 'not here'}"
            self.unread.append((framework, NotFollowed(path=place[0], line=place[1], reason=reason)))

    @cached_property
    def overrides(self) -> list[NotComposed]:
        """What every command line sets in Hydra's way that starts the same Python program, such as `trainer=ddp`."""
        started: dict[str, list[dict[tuple[str, ...], NotComposed]]] = {}
        for file in self._scripts:
            for line in command_lines(file, self._files.get):
                if (hit := _STARTED.search(_as_the_shell_sees(line))) is not None:
                    given = {each.group: each for each in _set_in_hydra(hit, file.path, line)}
                    started.setdefault(hit["program"], []).append(given)
        shared = ((first, set(first).intersection(*more)) for first, *more in started.values())
        return [each for first, groups in shared for group, each in first.items() if group in groups]

    @cached_property
    def _servers(self) -> list[_Server]:
        """The command lines that start an engine which samples for a framework."""
        found = []
        for file in self._scripts:
            for line in command_lines(file, self._files.get):
                text = _as_the_shell_sees(line)
                for framework in frameworks():
                    hit = next((hit for each in framework.servers for hit in [re.search(each, text)] if hit), None)
                    if hit is None:
                        continue
                    name = hit.groupdict().get("file") or ""
                    options = dict(_given(re.split(r"[;&|]", text[hit.end() :])[0], ("dtype", "model")))
                    config = self.found(name, file.path) if name else ""
                    place = (file.path, _line_of(line, options.get("dtype") or hit[0].split()[0]))
                    found.append(_Server(framework.name, bool(name), config, options, place))
        return found

    def server_of(self, framework: Framework, path: str, model: str) -> dict[str, tuple[str, str, int]]:
        """The option `server:dtype` of the engine that samples for a file, where one command line here starts one."""
        ours = [each for each in self._servers if each.framework == framework.name]
        found = [
            each
            for each in ours
            if (each.file == path if each.is_by_file else each.options.get("model") == model or len(ours) == 1)
        ]
        said = {each.options.get("dtype", "" if each.is_by_file else "auto"): each.place for each in found}
        if len(said) != 1 or "" in said:
            return {}
        ((dtype, place),) = said.items()
        return {"server:dtype": (dtype, *place)}

    def _named_in(self, text: str, name: str, naming: str) -> str:
        """The file that a command line means, also by Hydra's name for it: without suffix, from `--config-path`."""
        if name.endswith(DOCUMENTS) or "$" in name:
            return self.found(name, naming)
        said = {key: each for hit in _CONFIG_PATH.finditer(text) for key, each in hit.groupdict().items() if each}
        folders = [
            said.get("folder", ""),
            posixpath.join(posixpath.dirname(said.get("program", "")), said.get("folder", "")),
        ]
        paths = (self.found(posixpath.join(each, f"{name}.yaml"), naming) for each in folders)
        return next(filter(None, paths), "")

    def found(self, name: str, naming: str) -> str:
        """The file that a name in another one means: from the root, from its folder, or the only one that ends so."""
        if not name.endswith(DOCUMENTS):
            return ""
        for base in ("", posixpath.dirname(naming)):
            if (path := posixpath.normpath(posixpath.join(base, name))) in self._files:
                return path
        ending = "/" + re.sub(r"^(?:\$\{?\w+\}?/|\.{0,2}/)+", "", name)
        found = [path for path in self._files if f"/{path}".endswith(ending)]
        return found[0] if len(found) == 1 else ""


def _as_the_shell_sees(line: CommandLine) -> str:
    return _QUOTES.sub("", _EXEC_FORM.sub(" ", line.text))


def _is_printed(hit: re.Match[str]) -> bool:
    """Whether a command line shows what was found in it to somebody, and neither a file nor a shell gets it."""
    before, after = hit.string[: hit.start()], re.split(r"[;&]", hit.string[hit.start() :])[0]
    return _PRINTED.search(before) is not None and not any(sign in after for sign in "|>")


def _set_in_hydra(hit: re.Match[str], path: str, line: CommandLine) -> Iterator[NotComposed]:
    """What the options of a program set that may be of Hydra: the value is another one than in the configuration."""
    for each in _SET_IN_HYDRA.finditer(hit["options"]):
        group, why = tuple(re.split(r"[./]", each["key"])), f"is set where {hit['program']} is started"
        yield NotComposed(path=path, line=_line_of(line, each[0]), entry=each[0], group=group, why=why)


def _line_of(line: CommandLine, word: str) -> int:
    """The line of the file on which a word of a command line stands."""
    return next((number for number, part in line.parts if word in part), line.parts[0][0])


def _line_of_key(line: CommandLine, key: str, otherwise: int) -> int:
    """The line of the file on which a command line sets a key."""
    spelled = re.escape(key.rpartition(":")[2]).replace("_", "[-_]")
    sets = re.compile(rf"(?<![\w.-])(?:--)?(?:no-)?{spelled}(?![\w.-])")
    return next((number for number, part in line.parts if sets.search(part)), otherwise)


def _given(text: str, keys: Collection[str]) -> Iterator[tuple[str, str]]:
    """What a command line sets beside a file: `--bf16 false`, `--bf16=false`, `--no-bf16`, `dtype=fp32`."""
    words = text.split()
    for word, following in zip(words, [*words, ""][1:], strict=True):
        key, sign, value = word.removeprefix("--").lstrip("+").partition("=")
        is_option = word.startswith("--")
        table, _, last = key.rpartition(".")
        off = is_option and last.startswith(("no-", "no_"))
        if is_option:
            key = ".".join(filter(None, (table, last[3:] if off else last))).replace("-", "_")
        if key not in keys or not (is_option or sign):
            continue
        value = value if sign else ("" if following.startswith("-") else following)
        yield key, "false" if off else value or ("" if sign else "true")
