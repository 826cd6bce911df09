"""What verifygate runs on and is built with is installed by hash, in the versions that all tests run with."""

from __future__ import annotations

import os
import re
import subprocess
import tomllib
from pathlib import Path

import pytest
from workflow_steps import commit, git

from verifygate import __version__
from verifygate.base.distribution import DISTRIBUTION
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
        (None, OwnSource(requirement=f"{DISTRIBUTION}=={__version__}")),
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
    """From the repository, without the credentials in its address, or from the index; else somebody fills it in."""
    monkeypatch.setattr(ci_files.importlib.metadata, "distribution", lambda _name: Installed(noted))
    assert own_source() == source
    text = ci_files._filled("github.yml", "", ROOT)
    assert f'VERIFYGATE_COMMIT: "{source.commit}"' in text
    assert f'VERIFYGATE: "{source.requirement}"' in text
    assert "u:secret" not in text


def test_a_job_without_a_source_says_so_in_one_line(tmp_path: Path):
    environment = {"PATH": os.environ["PATH"], "VERIFYGATE": "", "VERIFYGATE_SOURCE": "", "VERIFYGATE_COMMIT": ""}
    script = ci_files._INSTALL_SELF.format(python="./pip")
    ended = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", script], cwd=tmp_path, env=environment, capture_output=True
    )
    assert (ended.returncode, ended.stdout) == (2, b"")
    assert ended.stderr.decode().splitlines() == [
        "error: nothing says where verifygate is installed from: set VERIFYGATE_SOURCE and VERIFYGATE_COMMIT"
    ]
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("release", ["", "verifygate-amp==9.9"])
def test_the_job_takes_one_commit_and_installs_in_order(tmp_path: Path, release: str):
    """What it needs first, by hash; then the commit alone, built by what is there. Or the release, if one is named."""
    source, work = tmp_path / "source", tmp_path / "work"
    source.mkdir()
    work.mkdir()
    git(source, "init", "-q", "-b", "main")
    pinned = commit(source, {"requirements-hashed.txt": "pinned\n"})
    commit(source, {"requirements-hashed.txt": "later\n"})
    (work / "pip").write_text('#!/bin/sh\necho "$@" >> calls\n', encoding="utf-8")
    (work / "pip").chmod(0o755)
    git(source, "config", "uploadpack.allowAnySHA1InWant", "true")
    environment = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "VERIFYGATE": release,
                   "VERIFYGATE_SOURCE": source.as_uri(), "VERIFYGATE_COMMIT": pinned}  # fmt: skip
    script = ci_files._INSTALL_SELF.format(python="./pip")
    subprocess.run(["bash", "-euo", "pipefail", "-c", script], cwd=work, env=environment, check=True)

    calls = (work / "calls").read_text(encoding="utf-8").splitlines()
    if release:
        assert calls == ["-I -m pip install verifygate-amp==9.9"]
        return
    assert calls == [
        "-I -m pip install --require-hashes -r verifygate-source/requirements-hashed.txt",
        "-I -m pip install --no-deps --no-build-isolation ./verifygate-source",
    ]
    assert (work / "verifygate-source/requirements-hashed.txt").read_text(encoding="utf-8") == "pinned\n"
