"""Read what the plugin told: the JSON lines of one run, as a record."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from hashlib import blake2b
from hmac import compare_digest
from pathlib import Path
from typing import Any

from verifygate.base.regular_files import open_regular

MAX_BYTES = 256 * 1024 * 1024
DIGEST_BYTES = 16
MAX_STACKS = 1024 * 1024
STACK_HEAD = re.compile(r"^(?:(?P<current>Current thread)|Thread) .*\(most recent call first\):$", re.MULTILINE)
STACK_FRAME = re.compile(r'^  File "(?P<path>.*)", line (?P<line>\d+) in .*$', re.MULTILINE)
Place = tuple[str, int]


@dataclass(frozen=True)
class Item:
    """A collected test."""

    id: str
    path: str
    line: int
    requirements: tuple[str, ...]


@dataclass(frozen=True)
class Phase:
    """Setup, call or teardown of a test: what pytest reported, and what was really raised."""

    when: str
    outcome: str
    xfail: str | None
    seconds: float
    failure: bool
    message: str
    trace: tuple[Place, ...]
    called: bool | None = None
    """Whether the test's own function was entered; None where nothing could be seen."""
    marked: bool = True
    """Whether something marks the test as one that is expected to fail."""
    error: str = ""
    """The type of what was raised."""
    by_statement: bool = True
    """Whether a `raise` or an `assert` raised it, at the innermost place of the trace."""
    causes: tuple[tuple[str, ...], ...] = ()
    """The classes of what was raised, and of each that it was raised from."""
    between: tuple[str, ...] = ()
    """Files and plugins with a hook between the test and its report, where the two tell different stories."""


@dataclass(frozen=True)
class NotCollected:
    """A file or folder that pytest skipped as a whole, or could not import."""

    id: str
    outcome: str
    message: str
    trace: tuple[Place, ...]


@dataclass(frozen=True)
class Warned:
    category: str
    message: str
    path: str
    line: int


@dataclass
class Record:
    """One run as the plugin told it, in order; whatever is missing did not happen, or the run died before it."""

    loaded: bool = False
    collecting: str = ""
    """The file that pytest began to collect last."""
    items: dict[str, Item] | None = None
    """None until the collection finished."""
    started: list[str] = field(default_factory=list)
    phases: dict[str, list[Phase]] = field(default_factory=dict)
    not_collected: list[NotCollected] = field(default_factory=list)
    deselected: list[str] = field(default_factory=list)
    warnings: list[Warned] = field(default_factory=list)
    interrupted: str = ""
    internal_error: str = ""
    stopped: str = ""
    """Why pytest stopped early: `stopping after 1 failures`."""
    status: int | None = None
    """The exit status that pytest finished with; None where it never finished."""
    lingered: bool = False
    coverage: str | None = None
    """Why coverage failed; empty where it was saved; None where the run never came to that."""
    unharmed: list[str] = field(default_factory=list)
    """Folders in which a test that was made to fail was not reported as failed."""
    altered: list[tuple[str, str, str]] = field(default_factory=list)
    """Path and name of functions of tests whose text is not what ran, and how that showed."""
    blunted: tuple[str, ...] = ()
    """Tests whose text has an assert that the loaded code does not have."""
    last_start: float = 0.0
    """When the last test began, on the system's monotonic clock."""
    last_seconds: float = 0.0
    """How long the last test had been running when a time limit ended the run."""
    standing: tuple[Place, ...] = ()
    """Where the run stood when a time limit ended it, outermost line first; empty where nobody could see."""
    test_limit: float | None = None
    """Seconds after which one test ended the run, where one did."""
    strangers: tuple[str, ...] = ()
    """Modules that were loaded from a folder which the run was to have nothing of."""
    forged: int = 0
    """Lines that the plugin did not write."""

    @property
    def last_started(self) -> str:
        return self.started[-1] if self.started else ""


def read_stream(path: Path, key: str) -> Record:
    """Read the file as far as it goes; a last line cut short by a dying process is left out.

    Each line begins with the digest of all lines so far, keyed: from the first one that another hand added, changed or
    took away, nothing is believed but the lines that still go on from the last true one.
    """
    record, running = Record(), blake2b(key=bytes.fromhex(key), digest_size=DIGEST_BYTES)
    if not path.exists():
        return record
    if path.stat().st_size > MAX_BYTES:
        record.forged += 1  # the plugin tells a few hundred bytes per test
        return record
    with open_regular(path) as file:
        for line in file:
            if not line.endswith(b"\n"):
                break
            try:
                mark, _, body = line.partition(b" ")
                following = running.copy()
                following.update(body)
                if not compare_digest(mark, following.hexdigest().encode("ascii")):
                    raise ValueError("not the digest of this run's lines")
                running = following
                _take(record, json.loads(body.decode("ascii")))
            except (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError):
                record.forged += 1
    return record


def read_stacks(path: Path) -> tuple[tuple[Place, ...], bool]:
    """The main thread's stack as faulthandler wrote it, outermost line first; and whether a test's time was over.

    faulthandler begins with the thread that a signal met, which is the main one, or with the newest, and ends with it.
    """
    if not path.exists():
        return (), False
    with open_regular(path) as file:
        text = file.read(MAX_STACKS).decode("utf-8", "replace")
    heads = list(STACK_HEAD.finditer(text))
    if not heads:
        return (), False
    head = next((head for head in heads if head["current"]), heads[-1])
    end = next((later.start() for later in heads if later.start() > head.start()), len(text))
    frames = STACK_FRAME.finditer(text, head.end(), end)
    return tuple((frame["path"], int(frame["line"])) for frame in frames)[::-1], text.startswith("Timeout (")


def _take(record: Record, event: dict[str, Any]) -> None:
    """Enter one event. Raises KeyError, TypeError or ValueError for one that the plugin cannot have written."""
    match event["event"]:
        case "loaded":
            record.loaded = True
        case "collecting":
            record.collecting = str(event["id"])
        case "not-collected":
            place = NotCollected(str(event["id"]), str(event["outcome"]), str(event["message"]), _trace(event))
            record.not_collected.append(place)
        case "deselected":
            record.deselected += [str(test) for test in event["ids"]]
        case "collected":
            record.items = {str(item["id"]): _item(item) for item in event["items"]}
        case "start":
            record.started.append(str(event["id"]))
            record.last_start = float(event.get("at", 0.0))
        case "phase":
            record.phases.setdefault(str(event["id"]), []).append(_phase(event))
        case "warning":
            warned = Warned(str(event["category"]), str(event["message"]), str(event["path"]), int(event["line"]))
            record.warnings.append(warned)
        case "interrupted":
            record.interrupted = f"{event['kind']}: {event['message']}"
        case "internal-error":
            record.internal_error = str(event["message"])
        case "canary":
            record.unharmed.append(str(event["folder"]))
        case "altered":
            record.altered.append((str(event["path"]), str(event["name"]), str(event["why"])))
        case "blunted":
            record.blunted = tuple(str(test) for test in event["ids"])
        case "coverage":
            record.coverage = str(event["failure"])
        case "strangers":
            record.strangers = tuple(str(path) for path in event["paths"])
        case "finish":
            record.status, record.stopped = int(event["status"]), str(event["stopped"])
        case "lingered":
            record.lingered = True
        case other:
            raise ValueError(f"no such event: {other}")


def _item(item: dict[str, Any]) -> Item:
    requirements = tuple(str(requirement) for requirement in item["requirements"])
    return Item(str(item["id"]), str(item["path"]), int(item["line"]), requirements)


def _phase(event: dict[str, Any]) -> Phase:
    xfail = event["xfail"]
    return Phase(
        when=str(event["when"]),
        outcome=str(event["outcome"]),
        xfail=None if xfail is None else str(xfail),
        seconds=float(event["seconds"]),
        failure=bool(event.get("failure", False)),
        message=str(event.get("message", "")),
        trace=_trace(event),
        error=str(event.get("error", "")),
        by_statement=bool(event.get("by_statement", True)),
        causes=tuple(tuple(map(str, names)) for names in event.get("causes", ())),
        called=None if event.get("called") is None else bool(event["called"]),
        between=tuple(str(name) for name in event.get("between", ())),
        marked=bool(event.get("marked", True)),
    )


def _trace(event: dict[str, Any]) -> tuple[Place, ...]:
    return tuple((str(path), int(line)) for path, line in event.get("trace", ()))
