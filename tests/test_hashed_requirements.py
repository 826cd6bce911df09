"""What verifygate runs on and is built with is installed by hash, in the versions that all tests run with."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

from verifygate.commands import ci_files
from verifygate.commands.ci_files import OwnSource, own_source

ROOT = Path(__file__).parent.parent
LINE = re.compile(r"^([\w.-]+)==(\S+)(?: ; [^\\]+)? \\\n((?:    --hash=sha256:[0-9a-f]{64}(?: \\)?\n)+)", re.MULTILINE)
HASHED = (ROOT / "requirements-hashed.txt").read_text(encoding="utf-8")
ELSEWHERE = {"colorama", "pyyaml-ft"}
"""Of other systems and Pythons than that of constraints.txt."""


def test_each_line_is_a_version_with_hashes():
    rest = LINE.sub("", HASHED)
    assert [line for line in rest.splitlines() if line and not line.startswith("#")] == []


def test_the_versions_are_those_that_are_tested():
    constraints = dict(
        line.split("==") for line in (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines() if "==" in line
    )
    found = {name: version for name, version, _ in LINE.findall(HASHED)}
    assert {name: version for name, version in found.items() if name not in ELSEWHERE} == {
        name: constraints[name] for name in found if name not in ELSEWHERE
    }


def test_all_that_is_needed_is_there_with_what_builds_it():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    needed = [*project["project"]["dependencies"], *project["build-system"]["requires"]]
    names = {re.split(r"[<>=]", each)[0] for each in needed}
    assert names <= {name for name, _, _ in LINE.findall(HASHED)}


class Installed:
    def __init__(self, noted: str | None) -> None:
        self._noted = noted

    def read_text(self, _name: str) -> str | None:
        return self._noted


@pytest.mark.parametrize(
    ("noted", "source"),
    [
        (None, OwnSource()),
        ("no JSON", OwnSource()),
        (
            '{"url": "https://u:secret@example.org/a/gate.git", "vcs_info": {"vcs": "git", "commit_id": "c0ffee"}}',
            OwnSource("https://example.org/a/gate", "c0ffee"),
        ),
        ('{"url": "file:///no/such/folder", "dir_info": {}}', OwnSource()),
        ('{"url": "https://example.org/gate.whl", "archive_info": {}}', OwnSource()),
    ],
)
def test_a_job_installs_what_wrote_it(noted: str | None, source: OwnSource, monkeypatch: pytest.MonkeyPatch):
    """From the repository, without the credentials in its address; where there is none, from the index."""
    monkeypatch.setattr(ci_files.importlib.metadata, "distribution", lambda _name: Installed(noted))
    assert own_source() == source
    text = ci_files._filled("github.yml", "", ROOT)
    assert f'VERIFYGATE_COMMIT: "{source.commit}"' in text
    assert ('VERIFYGATE: ""' in text) is bool(source.commit)
    assert "u:secret" not in text
