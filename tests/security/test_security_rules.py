"""The security stage's own rules, on small trees: what each finds, and what it leaves alone."""

from __future__ import annotations

import zlib
from pathlib import Path

import pytest

from verifygate.config.rule_selection import RuleSelection
from verifygate.config.settings import SecuritySettings
from verifygate.model import Finding
from verifygate.security.examine import examine
from verifygate.security.registry import security_rules
from verifygate.security.tree import AuditedTree
from verifygate.sources.discovery import read_sources

OWN_ONLY = SecuritySettings(ignore=("SEC201", "SEC202", "SEC203"))


def found(folder: Path, torch_version: str = "", **files: str) -> list[Finding]:
    """What the rules find in a tree of these files; `__` in a name stands for its last dot."""
    for name, text in files.items():
        path = folder / name.replace("__", ".")
        path.write_text(text, encoding="utf-8")
    sources = read_sources(folder, ["."])
    return list(examine(AuditedTree(folder, sources, RuleSelection(torch_version=torch_version)), OWN_ONLY).findings)


def told(findings: list[Finding]) -> list[tuple[str, int, str, str]]:
    return [(each.rule, each.line, each.severity.value, each.certainty.value) for each in findings]


DOWNLOADED = """\
import torch
from huggingface_hub import hf_hub_download

def restore(name):
    path = hf_hub_download(name, "model.pt")
    return torch.load(path{arguments})
"""


def test_what_was_downloaded_and_is_unpickled_is_certain(tmp_path: Path) -> None:
    findings = found(tmp_path, train__py=DOWNLOADED.format(arguments=", weights_only=False"))
    assert told(findings) == [("SEC101", 6, "high", "certain")]
    assert "`huggingface_hub.hf_hub_download` downloaded in line 5" in findings[0].message


@pytest.mark.parametrize("arguments", ["", ", weights_only=True", ", weights_only=safe", ", **options"])
def test_a_load_that_is_safe_or_not_known_is_no_finding(tmp_path: Path, arguments: str) -> None:
    assert found(tmp_path, train__py=DOWNLOADED.format(arguments=arguments)) == []


@pytest.mark.parametrize(("allowed", "findings"), [(">=2.6", 0), ("2.5", 1), (">=1.13", 1), ("", 0)])
def test_the_default_depends_on_the_torch_that_a_project_allows(tmp_path: Path, allowed: str, findings: int) -> None:
    assert len(found(tmp_path, allowed, train__py=DOWNLOADED.format(arguments=""))) == findings


def test_a_path_from_the_command_line_weighs_more_than_a_file_of_its_own(tmp_path: Path) -> None:
    text = "import torch\ntorch.load('own.pt', weights_only=False)\ntorch.load(args.path, weights_only=False)\n"
    assert told(found(tmp_path, train__py=text)) == [
        ("SEC101", 3, "medium", "likely"),
        ("SEC101", 2, "low", "likely"),
    ]


@pytest.mark.parametrize(
    ("call", "line"),
    [
        ("torch.hub.load('owner/repo', 'resnet')", 1),
        ("torch.hub.load('owner/repo:main', 'resnet')", 1),
        ("AutoModel.from_pretrained('a/b', trust_remote_code=True, revision='main')", 1),
        ("torch.hub.load('owner/repo:" + "0a" * 20 + "', 'resnet')", 0),
        ("torch.hub.load('./vendored', 'resnet', source='local')", 0),
        ("AutoModel.from_pretrained('a/b', trust_remote_code=True, revision='" + "0a" * 20 + "')", 0),
        ("AutoModel.from_pretrained('./mine', trust_remote_code=True)", 0),
        ("AutoModel.from_pretrained('a/b', trust_remote_code=trusted)", 0),
    ],
)
def test_code_of_a_hub_needs_a_fixed_revision(tmp_path: Path, call: str, line: int) -> None:
    findings = found(tmp_path, model__py=f"import torch\n{call}\n")
    assert [each.rule for each in findings] == ["SEC102"] * line


def test_a_download_at_import_is_found_only_where_somebody_imports(tmp_path: Path) -> None:
    text = "import urllib.request\nurllib.request.urlretrieve(ADDRESS, 'w.pt')\n"
    assert found(tmp_path, download__py=text) == []
    later = "def get():\n    import urllib.request\n    urllib.request.urlretrieve(ADDRESS, 'w.pt')\n"
    findings = found(tmp_path, data__py=text, later__py=later, train__py="import data\nimport later\n")
    assert told(findings) == [("SEC103", 2, "medium", "certain")]


def _github_token() -> str:
    body = "Ab3dE7gH1jK5mN9pQ2sT6vW0yZ4bC8"
    digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
    value, made = zlib.crc32(body.encode()), ""
    while value:
        value, rest = divmod(value, 62)
        made = digits[rest] + made
    return f"ghp_{body}{made.rjust(6, '0')}"


def test_a_token_with_the_right_checksum_is_certain_and_never_repeated(tmp_path: Path) -> None:
    token = _github_token()
    findings = found(tmp_path, settings__yaml=f"a: 1\ntoken: {token}\n", train__py="pass\n")
    assert told(findings) == [("SEC104", 2, "high", "certain")]
    assert token not in repr(findings)


@pytest.mark.parametrize(
    "text", ["ghp_" + "a" * 36, "ghp_" + "Ab3dE7gH1jK5mN9pQ2sT6vW0yZ4bC8000000", "AKIA" + "EXAMPLE" * 2 + "AB"]
)
def test_an_example_is_no_secret(tmp_path: Path, text: str) -> None:
    assert found(tmp_path, notes__md=text, train__py="pass\n") == []


def test_a_key_of_wandb_is_likely(tmp_path: Path) -> None:
    text = "wandb.login(key='" + "3f9a1c07e5b2d8460a7c" * 2 + "')\n"
    assert told(found(tmp_path, train__py=text)) == [("SEC104", 1, "high", "likely")]


@pytest.mark.parametrize(
    ("requirements", "more", "findings"),
    [
        ("torch>=2\nnumpy==1.26.4\n", {}, 1),
        ("torch==2.5.1\nnumpy==1.26.4  # why\n", {}, 0),
        ("torch>=2\n", {"uv__lock": "version = 1\n"}, 0),
        ("torch>=2\n", {"constraints__txt": "torch==2.5.1\n"}, 0),
    ],
)
def test_versions_are_fixed_or_locked(tmp_path: Path, requirements: str, more: dict[str, str], findings: int) -> None:
    there = found(tmp_path, requirements__txt=requirements, train__py="pass\n", **more)
    assert [each.rule for each in there] == ["SEC105"] * findings


def test_a_comment_with_a_reason_silences_one_line(tmp_path: Path) -> None:
    load = "torch.load('a.pt', weights_only=False)"
    text = f"import torch\n{load}  # verifygate: ignore[SEC101] our own file\n{load}  # verifygate: ignore[SEC101]\n"
    (tmp_path / "train.py").write_text(text, encoding="utf-8")
    examined = examine(AuditedTree(tmp_path, read_sources(tmp_path, ["."])), OWN_ONLY)
    assert [each.line for each in examined.findings] == [3]
    assert [(each.line, each.reason) for each in examined.suppressions] == [(2, "our own file")]


def test_every_rule_says_its_impact() -> None:
    for code, loaded in security_rules().items():
        assert "## Impact\n" in loaded.docs, code
        assert "## What is looked at\n" in loaded.docs, code
