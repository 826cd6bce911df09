"""Ask the project's interpreter what it is: Python, torch and its devices, pytest, coverage."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path

from verifygate.base.regular_files import MAX_ANSWER_BYTES, read_regular
from verifygate.process.subject import StartOptions, Subject

SECONDS = 120.0
QUESTION = """
import importlib.metadata, json, os, platform, sys

def version(name):
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return "not installed"

answers = {"platform": f"{platform.system()} {platform.machine()}", "python": platform.python_version()}
answers |= {name: version(name) for name in ("torch", "pytest", "coverage")}
try:
    import torch
    answers["torch"] = torch.__version__
    count = torch.cuda.device_count() if torch.cuda.is_available() else 0
    answers["cuda"] = f"{count} x {torch.cuda.get_device_name(0)}" if count else "not available"
except ImportError:
    answers["cuda"] = "not known without torch"
except Exception as error:
    answers["cuda"] = f"not known: {type(error).__name__}"
try:
    import pytest
    sys.stdout = sys.stderr = open(os.devnull, "w")
    os.chdir(sys.argv[2])
    answers["canary"] = int(pytest.main(["-q", "-p", "no:cacheprovider", "-c", "pytest.ini", "test_canary.py"]))
except ImportError:
    pass
except BaseException as error:
    answers["canary"] = type(error).__name__
with open(sys.argv[1], "w", encoding="utf-8") as file:
    json.dump(answers, file)
"""
CANARY = "def test_that_must_fail():\n    one = 1\n    assert one == 2\n"
FAILED = "1"
"""pytest's exit status where a test failed."""


@dataclass(frozen=True)
class Interpreter:
    """What the project's interpreter answered."""

    answers: dict[str, str] = field(default_factory=dict)
    problem: str = ""
    """Why there is no answer."""
    canary: str = FAILED
    """What pytest made of a test that must fail, in a process that nothing of the project ever entered."""

    @property
    def has_pytest(self) -> bool:
        return self.has("pytest")

    def has(self, package: str) -> bool:
        """Whether one of the packages that were asked for is installed there."""
        return self.answers.get(package, "not installed") != "not installed"


def ask(subject: Subject, folder: Path) -> Interpreter:
    """Start the interpreter once and ask; an interpreter that cannot answer is described, never raised."""
    answer = folder / "environment.json"
    try:
        script = folder / "question.py"
        script.write_text(QUESTION, encoding="utf-8")
        apart = folder / "canary"
        apart.mkdir()
        (apart / "test_canary.py").write_text(CANARY, encoding="utf-8")
        (apart / "pytest.ini").write_text("[pytest]\n", encoding="utf-8")
        start = StartOptions(safe_path=True, answers=[folder])
        completed = subject.run([str(script), str(answer), str(apart)], seconds=SECONDS, start=start)
    except OSError as error:
        return Interpreter(problem=f"it cannot be started: {error.strerror or type(error).__name__}")
    try:
        answers = json.loads(read_regular(answer, MAX_ANSWER_BYTES))
        canary = str(answers.pop("canary", FAILED))
        return Interpreter({str(name): str(value) for name, value in answers.items()}, canary=canary)
    except (OSError, ValueError, AttributeError):
        return Interpreter(problem=f"it did not say what it is ({completed.ending})")
