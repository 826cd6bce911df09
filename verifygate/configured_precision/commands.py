"""Read the commands in shell scripts that start a training: the script, the flags for a precision, the files named."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator

from verifygate.base.records import record
from verifygate.configured_precision.setting import ACCELERATE, DEEPSPEED, HUGGING_FACE, LIGHTNING, OWN, Setting
from verifygate.sources.configuration_file import ConfigurationFile
from verifygate.sources.tree import Sources

_WORD = re.compile(r"""[^\s"'\\;|&]*(?:"[^"]*"|'[^']*'|[^\s"'\\;|&])+""")
_COMMAND = re.compile(r"""(?:"[^"]*"|'[^']*'|[^#]|(?<=\S)#)*+""")
"""What comes before a comment."""
_FLAG = re.compile(r"--?(?P<name>[\w.-]+)(?:=(?P<value>.*))?$")
_OVERRIDE = re.compile(r"\+{0,2}(?P<name>[\w.]*\b(?:precision|gradient_clip_val|amp|fp16|bf16))=(?P<value>.*)$")
_FILE = re.compile(r"[^\s=]+\.(?:ya?ml|json|toml)$")
_SWITCHES = frozenset({"fp16", "bf16", "amp", "use_amp", "use_fp16", "use_bf16"})
_GIVEN = {
    "mixed_precision": "precision",
    "precision": "precision",
    "trainer.precision": "precision",
    "torch_dtype": "weights",
    "dtype": "weights",
    "amp_dtype": "precision",
    "max_grad_norm": "clip",
}
_LAUNCHERS = frozenset({"torch", "accelerate", "deepspeed"})
"""Packages with modules that start a program of the project."""
_OF_TRAINING_ARGUMENTS = frozenset({"fp16", "bf16", "torch_dtype", "max_grad_norm"})


@record
class Command:
    """One command line: which source it starts, what its flags set, which files they name."""

    program: str
    """Path of the source; empty where it is none of those under audit."""
    line: int
    settings: tuple[Setting, ...]
    files: tuple[str, ...]


def commands_in(file: ConfigurationFile, sources: Sources) -> Iterator[Command]:
    """The commands of a script that start a Python program."""
    for lines in logical_lines(file.lines):
        words = [(word, number) for number, text in lines for word in _WORD.findall(text)]
        at = next((n for n, (word, _) in enumerate(words) if _starts(word)), None)
        if at is None:
            continue
        script = next((n for n, (word, _) in enumerate(words) if n > at and word.endswith(".py")), None)
        program = _resolved(words[script][0], file.folder, sources) if script is not None else ""
        if script is None and (script := _module(words, at)) is not None:
            program = _resolved(f"{words[script][0].replace('.', '/')}.py", file.folder, sources)
            if not program and _is_foreign(words[script][0], sources):
                continue
        settings = tuple(_settings(words, script, program, file.path, sources))
        files = tuple(hit[0] for word, _ in words for hit in [_FILE.search(word.partition("=")[2] or word)] if hit)
        if settings or files:
            yield Command(program, words[at][1], settings, files)


def _module(words: list[tuple[str, int]], start: int) -> int | None:
    """Where the module stands that `python -m package.module` starts."""
    named = (n + 1 for n, (word, _) in enumerate(words[:-1]) if n > start and word in ("-m", "--module"))
    return next((n for n in named if re.fullmatch(r"[A-Za-z_][\w.]*", words[n][0])), None)


def _is_foreign(module: str, sources: Sources) -> bool:
    """Whether a module is another project's program, which takes no options of this one; launchers start programs."""
    package = module.partition(".")[0]
    is_here = any(f"/{package}/" in f"/{file.path}" or f"/{file.path}".endswith(f"/{package}.py") for file in sources)
    return not is_here and package not in _LAUNCHERS


def logical_lines(lines: list[str]) -> Iterator[list[tuple[int, str]]]:
    """Command lines, each as the numbered lines that a backslash joins; comments are left out."""
    joined: list[tuple[int, str]] = []
    for number, line in enumerate(lines, 1):
        command = _COMMAND.match(line)
        text = command[0].rstrip() if command is not None else ""
        joined.append((number, text.removesuffix("\\")))
        if not text.endswith("\\"):
            yield joined
            joined = []
    if joined:
        yield joined


def _starts(word: str) -> bool:
    name = word.rpartition("/")[2]
    return name in ("accelerate", "torchrun", "deepspeed", "srun") or re.match(r"python[\d.]*$", name) is not None


def _resolved(word: str, folder: str, sources: Sources) -> str:
    """The source that a word names: from the script's folder, from the root, else the only one with that ending."""
    text = re.sub(r"^\$\{?\w+\}?/", "", word.strip("\"'"))
    for base in (folder, ""):
        path = posixpath.normpath(posixpath.join(base, text))
        if (there := sources.at(path)) is not None:
            return there.path
    ending = "/" + text.removeprefix("./")
    found = [path for path in sources.named(posixpath.basename(ending)) if path.endswith(ending)]
    return found[0] if len(found) == 1 else ""


def _settings(
    words: list[tuple[str, int]], script: int | None, program: str, path: str, sources: Sources
) -> Iterator[Setting]:
    launched = any(word == "accelerate" for word, _ in words[: script or 0])
    arguments = any(word.startswith("--per_device_") for word, _ in words)
    for at, (word, line) in enumerate(words):
        if (hit := _FLAG.match(word)) is not None:
            name, value = hit["name"].replace("-", "_"), hit["value"]
        elif (hit := _OVERRIDE.match(word)) is not None:
            name, value = hit["name"], hit["value"]
        else:
            continue
        last = name.rpartition(".")[2]
        if name not in _GIVEN and last not in _GIVEN and last not in _SWITCHES:
            continue
        if value is None:
            following = words[at + 1][0] if at + 1 < len(words) else ""
            value = "true" if last in _SWITCHES and _is_next_flag(following) else following
        framework = _framework(name, at < (script or 0) and launched, arguments, program, sources)
        aspect = "precision" if last in _SWITCHES else _GIVEN.get(name) or _GIVEN[last]
        if framework == OWN:
            aspect = "own switch"
        yield Setting(
            framework=framework, aspect=aspect, key=name, value=value.strip("\"'")[:80], path=path, line=line,
            reach=f"{path}:{line} starts it" if program else "", programs=(program,) if program else (),
        )  # fmt: skip


def _is_next_flag(word: str) -> bool:
    return not word or word.lower() not in ("true", "false", "1", "0", "yes", "no")


def _framework(name: str, launched: bool, arguments: bool, program: str, sources: Sources) -> str:
    """Whose setting a flag is: that of the launcher, or that of what the program hands its arguments to."""
    if launched:
        return ACCELERATE
    file = sources.get(program)
    data = file.data if file is not None else b""
    last = name.rpartition(".")[2]
    if last in _OF_TRAINING_ARGUMENTS and (arguments or b"TrainingArguments" in data or b"HfArgumentParser" in data):
        return HUGGING_FACE
    if last == "mixed_precision" and b"Accelerator(" in data:
        return ACCELERATE
    if last == "precision" and (name.startswith("trainer.") or b"lightning" in data):
        return LIGHTNING
    return DEEPSPEED if last in ("fp16", "bf16") and b"deepspeed.add_config_arguments" in data else OWN
