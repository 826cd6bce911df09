"""What the bytes of all files tell of training: read while they are held, and of no file that has to be parsed."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from verifygate.base.records import record
from verifygate.model.precision_contract import Aspect
from verifygate.sources.file import SourceFile
from verifygate.sources.tree import Sources
from verifygate.static.contract.exports import EXPORTS
from verifygate.static.contract.fact import RULES, Fact
from verifygate.static.contract.program_words import FileWords, file_words
from verifygate.static.contract.training import TRAINS

CASTS = (b"half(", b"bfloat16", b"float16")
_LEAVES = (*(f"{name}(".encode() for name in EXPORTS), b"torch.save(", b".save_pretrained(", b"save_file(")
_BACKWARD = b".backward("
_RECEIVER = re.compile(rb"[\w.\])]*$")
_STEP = b".step("
_IMPORTS_TORCH = re.compile(rb"^[ \t]*(?:import|from)[ \t]+torch\b", re.MULTILINE)
_DEFINES = re.compile(rb"^[ \t]*(?:async[ \t]+)?def[ \t]+(\w+\(\s*\w*)", re.MULTILINE)
_FORMULA = re.compile(rb"backward\(\s*_?(?:ctx|context|cls)")
_EVALUATES = re.compile(rb"\.generate\(|\.eval\(\)|inference_mode")
_MAY_TRAIN = re.compile(rb"optim|\bfit\w*\(|\b_?train\w*\(|Trainer")
"""What a program has that may train, by a function of its own or of another file."""


@record(kw_only=True)
class ByteFacts:
    """What the bytes of all files tell, read while they are held: of large sources they are let go of then."""

    exports: tuple[Fact, ...]
    plain_training: tuple[Fact, ...]
    """The first backward of each file that trains with torch: what there is where nobody drives a precision."""
    casting: frozenset[str]
    """Paths of files that run a backward, and name a half precision."""
    exporting: frozenset[str]
    """Paths of files that export or save a model, and name a half precision."""
    training: frozenset[str]
    """Paths of files that train, themselves or by a framework."""
    stepping: frozenset[str]
    """Paths of files that step something."""
    evaluating: frozenset[str]
    """Paths of files that run a model for what it gives."""
    evaluating_only: frozenset[str]
    """The same of files in which nothing speaks of a training."""
    words: Mapping[str, FileWords]
    """What derived rows rest on, of the files that say something of it."""


def byte_facts(sources: Sources) -> ByteFacts:
    """Scan all files but those of tests."""
    exports: list[Fact] = []
    training: list[Fact] = []
    casting: set[str] = set()
    exporting: set[str] = set()
    trains: set[str] = set()
    steps: set[str] = set()
    evaluates: set[str] = set()
    evaluates_only: set[str] = set()
    words: dict[str, FileWords] = {}
    for file in sources:
        if file.is_test:
            continue
        if (said := file_words(file)) is not None:
            words[file.path] = said
        exports += _exports(file)
        names_half = any(word in file.data for word in CASTS)
        if names_half and any(word in file.data for word in _LEAVES):
            exporting.add(file.path)
        is_training = TRAINS.search(file.data) is not None
        if is_training:
            trains.add(file.path)
        if _EVALUATES.search(file.data):
            evaluates.add(file.path)
            if not is_training and not _MAY_TRAIN.search(file.data):
                evaluates_only.add(file.path)
        if _STEP in file.data:
            steps.add(file.path)
        at = _first_backward(file)
        if at == -1:
            continue
        if names_half:
            casting.add(file.path)
        if _IMPORTS_TORCH.search(file.data):
            training.append(
                Fact(
                    aspect=Aspect.DRIVER,
                    value="nobody: torch trains in the dtype of the weights",
                    path=file.path,
                    line=_line(file, at),
                    judged_by=RULES,
                )
            )
    return ByteFacts(
        exports=tuple(exports), plain_training=tuple(training), casting=frozenset(casting),
        exporting=frozenset(exporting), training=frozenset(trains), stepping=frozenset(steps),
        evaluating=frozenset(evaluates), evaluating_only=frozenset(evaluates_only), words=words,
    )  # fmt: skip


def _exports(file: SourceFile) -> Iterator[Fact]:
    """The first export of each kind."""
    for name in EXPORTS:
        at = file.data.find(f"{name}(".encode())
        if at != -1 and file.is_code(at):
            gap = f"`{name}`: in which dtype the exported model computes"
            yield Fact(aspect=Aspect.EXPORT, path=file.path, line=_line(file, at), gap=gap)


def _first_backward(file: SourceFile) -> int:
    """Where the first backward of a loss stands.

    The backward of an operation is none, nor what an object does with itself: in `def backward(ctx, grad)` the formula
    of the gradient calls another one, and `self.backward(loss)` is the method of a framework's class.
    """
    data, at = file.data, file.data.find(_BACKWARD)
    while at != -1:
        receiver = _RECEIVER.search(data, data.rfind(b"\n", 0, at) + 1, at)
        if receiver is not None and _is_of_a_loss(receiver[0]) and file.is_code(receiver.start()):
            above = [each[1] for each in _DEFINES.finditer(data, 0, receiver.start())]
            if not above or not _FORMULA.match(above[-1]):
                return at
        at = data.find(_BACKWARD, at + len(_BACKWARD))
    return -1


def _is_of_a_loss(receiver: bytes) -> bool:
    return receiver not in (b"self", b"super") and not receiver.startswith((b"ctx", b"torch.ops."))


def _line(file: SourceFile, offset: int) -> int:
    return file.data.count(b"\n", 0, offset) + 1
