"""Every form of a key that is known, in every place that text can come from, is in no output."""

from __future__ import annotations

import io
import json
import random
import re
import string
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from re import _constants as sre  # type: ignore[attr-defined]
from re import _parser as parser  # type: ignore[attr-defined]
from typing import Any

import pytest
from secret_list import LEFT_OUT, rewritten
from secret_list import forms as taken

from verifygate.base.masking import MASK, masked
from verifygate.base.secret_forms import LIST, is_example
from verifygate.cli import main
from verifygate.report.formats import check_formats, run_formats

ROOT = Path(__file__).parents[2]
LISTED = json.loads(LIST.read_text(encoding="utf-8"))["forms"]
LETTERS = string.ascii_letters + string.digits
B64 = "".join(random.Random(5).choices(LETTERS, k=200))  # noqa: S311
HEX = "".join(random.Random(6).choices("0123456789abcdef", k=200))  # noqa: S311
KEYS = {
    "GitHub": f"ghp_{B64[:36]}",
    "GitHub, fine-grained": f"github_pat_{B64[:22]}_{B64[30:89]}",
    "GitLab": f"glpat-{B64[:20]}",
    "NVIDIA": f"nvapi-{B64[:64]}",
    "Replicate": f"r8_{B64[:37]}",
    "Hugging Face": f"hf_{'QwErTyUiOpAsDfGhJkLzXcVbNmQwErTyUi'}",
    "JSON Web Token": f"eyJ{B64[:30]}.eyJ{B64[30:80]}.{B64[80:120]}",
    "AWS": f"AKIA{'Q3EGRMZ5LPTX7WDN'}",
    "Slack": f"xoxb-{'384756102938-Kq3VtY8wZr1LmN5bX9cD2e'}",
    "OpenAI": f"sk-{B64[:48]}",
    "OpenRouter": f"sk-or-v1-{HEX[:64]}",
    "Anthropic": f"sk-ant-api03-{B64[:93]}AA",
    "Google": f"AIza{B64[:35]}",
    "Stripe": f"sk_live_{B64[:24]}",
    "Databricks": f"dapi{HEX[:32]}",
    "Neptune": f"eyJhcGlfYWRkcmVzcyI6{B64[:80]}==",
    "Kaggle": f"KGAT_{HEX[:32]}",
    "npm": f"npm_{B64[:36]}",
    "PyPI": f"pypi-AgEIcHlwaS5vcmc{B64[:80]}",
    "Docker": f"dckr_pat_{B64[:27]}",
    "Azure": f"{B64[:3]}8Q~{B64[3:37]}",
}
"""Keys that are known wherever they stand."""
NAMED = {
    "AWS secret": ("AWS_SECRET_ACCESS_KEY = '{}'", f"{B64[:20]}/{B64[21:40]}"),
    "AWS secret, as JSON": ('"SecretAccessKey": "{}"', f"{B64[40:60]}+{B64[61:80]}"),
    "Weights & Biases": ("WANDB_API_KEY={}", HEX[:40]),
    "Comet": ("COMET_API_KEY={}", B64[:25]),
    "Azure storage": ("AccountName=a;AccountKey={};", f"{B64[:86]}=="),
    "Google service account": ('"private_key_id": "{}"', HEX[40:80]),
    "a private key, as JSON": (
        '"private_key": "-----BEGIN PRIVATE KEY-----\\n{}\\n-----END PRIVATE KEY-----\\n"',
        f"MIIEvQIBADANBgkqhkiG9w0BAQEFAASC{B64[:32]}\\n{B64[32:96]}",
    ),
    "a header": ("Authorization: Bearer {}", B64[:40]),
}
"""Those that are known by what stands before them."""
HARMLESS = (
    f"commit {HEX[:40]}",
    f"aws_commit: {HEX[:40]}",
    f"sha256:{HEX[:64]}",
    f"comet at {HEX[:12]}",
    "wandb: 0f8fad5b-d9cb-469f-a165-70867728950e",
    f'<img src="data:image/png;base64,{B64}{B64}==">',
    f"task-{B64[:10].lower()}",
    "mask-some-of-the-tokens-in-the-batch-2-of-3-at-random",
    "sk-learn-compatible_estimator_for_mixed_precision_32",
    "private_key: x25519.X25519PrivateKey",
    "github_pat_1 and glpat- and nvapi-key",
)
UNSCALED = "from torch.cuda.amp import GradScaler\n\nscaler = GradScaler()\n"
AMP_LINE = "    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)"


def sample(pattern: str, dice: random.Random) -> str:
    """A text that an expression matches, as far as the expressions of the list go."""
    return "".join(_some(each, dice) for each in parser.parse(pattern))


def _some(item: tuple[Any, Any], dice: random.Random) -> str:
    kind, value = item
    if kind is sre.LITERAL:
        return chr(value)
    if kind is sre.IN:
        return dice.choice([char for each in value for char in _members(each)])
    if kind is sre.MAX_REPEAT or kind is sre.MIN_REPEAT:
        least, most, inner = value
        times = least if most is sre.MAXREPEAT else dice.randint(least, min(most, least + 2))
        return "".join(_some(each, dice) for _ in range(times) for each in inner)
    if kind is sre.SUBPATTERN:
        return "".join(_some(each, dice) for each in value[-1])
    if kind is sre.BRANCH:
        return "".join(_some(each, dice) for each in dice.choice(value[1]))
    return "." if kind is sre.ANY else ""


def _members(item: tuple[Any, Any]) -> str:
    kind, value = item
    if kind is sre.LITERAL:
        return chr(value)
    if kind is sre.RANGE:
        return "".join(map(chr, range(value[0], value[1] + 1)))
    return {sre.CATEGORY_DIGIT: string.digits, sre.CATEGORY_SPACE: " "}.get(value, LETTERS)


@pytest.mark.parametrize("form", LISTED, ids=lambda form: form["id"])
def test_a_key_of_every_form_of_the_list_is_masked(form: dict[str, Any]) -> None:
    dice = random.Random(form["id"])  # noqa: S311
    keys = (sample(form["pattern"], dice) for _ in range(50))
    key = next(key for key in keys if not is_example(key, max(form["bits"], 2.0)))
    if form["id"] == "airtable-personnal-access-token":
        key = f"{key} of airtable"
    assert any(word in key.lower() for word in form["words"])
    for text in (f"a {key} b", f"'{key}',", f"key_{key}.py", f"<td>{key}</td>"):
        assert masked(text) != text
        assert key[4:-1] not in masked(text)


@pytest.mark.parametrize("name", KEYS)
@pytest.mark.parametrize("text", ["a {} b", "'{}',", "data/key_{}.pt", "<td>{}</td>", "::error file={}::x", "({})"])
def test_a_key_is_masked_wherever_it_stands(name: str, text: str) -> None:
    assert masked(text.format(KEYS[name])) == text.format(MASK)


@pytest.mark.parametrize("name", NAMED)
def test_a_key_is_masked_behind_its_name(name: str) -> None:
    text, key = NAMED[name]
    for written in (str, repr, json.dumps, lambda each: json.dumps(json.dumps(each))):
        shown = masked(written(text.format(key)))
        assert MASK in shown
        assert key[4:-6] not in shown


@pytest.mark.parametrize("name", ["GitHub", "GitHub, fine-grained", "GitLab", "NVIDIA", "OpenAI", "Google", "npm"])
def test_the_beginning_of_a_key_is_masked_where_it_was_cut(name: str) -> None:
    """As pytest cuts the lines of its summary."""
    assert masked(f"RuntimeError: {KEYS[name][:26]}...") == f"RuntimeError: {MASK}..."


@pytest.mark.parametrize("text", HARMLESS)
def test_what_is_no_key_stays(text: str) -> None:
    assert masked(text) == text


def test_the_list_says_where_it_is_from() -> None:
    kept = json.loads(LIST.read_text(encoding="utf-8"))
    assert kept["source"].startswith("https://github.com/gitleaks/gitleaks")
    assert re.match(r"v\d+\.\d+", kept["version"])
    assert "Permission is hereby granted" in kept["license"]
    assert len(kept["forms"]) > 90
    assert not LEFT_OUT.keys() & {each["id"] for each in kept["forms"]}


@pytest.mark.parametrize(
    ("rule", "made"),
    [
        (r"""\b(dapi[a-f0-9]{32})(?:[\x60'"\s;]|\\[nr]|$)""", r"(?<![A-Za-z0-9])((?:dapi[a-f0-9]{32})(?![A-Za-z0-9]))"),
        (r"glpat-[\w-]{20}", r"(glpat-[\w-]{20}[\w-]*)"),
        (r"(?i)\b(a_(?i)[a-z]{4})\b", r"(?i)(?<![A-Za-z0-9])((?:a_(?i:[a-z]{4}))(?![A-Za-z0-9]))"),
        (r"\b(ab~[\w-]{43})(?:[^\w-]|\z)", r"(?<![A-Za-z0-9])((?:ab~[\w-]{43})(?![A-Za-z0-9]))"),
    ],
)
def test_a_rule_becomes_an_expression_of_pythons(rule: str, made: str) -> None:
    assert rewritten(rule) == made
    assert taken([{"id": "a", "regex": rule, "keywords": ["b", "a"]}]) == [
        {"id": "a", "words": ["a", "b"], "pattern": made, "bits": 0}
    ]


def told(*words: str) -> str:
    printed = io.StringIO()
    with redirect_stdout(printed), redirect_stderr(printed):
        main(list(words))
    return printed.getvalue()


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Keys beside a finding, in strings, names of files, the configuration, output, errors and the environment."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("VERIFYGATE_CACHE_DIR", str(tmp_path.parent / f"{tmp_path.name}-cache"))
    monkeypatch.setenv("HOUSE_API_TOKEN", "q7Zp2-correct+horse")
    all_keys = [*KEYS.values(), *(text.format(key) for text, key in NAMED.values())]
    source = ["import torch", "def train(model, optimizer, scaler, loss):", "    scaler.scale(loss).backward()"]
    source += [f"    # {key}" for key in all_keys]
    source += [f"{AMP_LINE}  # {' '.join(all_keys[first::3])}" for first in range(3)]
    body = [B64[start : start + 60] for start in range(0, 180, 60)]
    source += ['    key = """-----BEGIN PRIVATE KEY-----', f"MIIEvQIBADANBgkqhkiG9w0BAQEFAASC{B64[:30]}", *body]
    source += ['-----END PRIVATE KEY-----"""', AMP_LINE]
    source += ["    scaler.step(optimizer)", "    scaler.update()"]
    Path("train.py").write_text("\n".join(source) + "\n", encoding="utf-8")
    folder = Path("data")
    folder.mkdir()
    for key in KEYS.values():
        name = f"m_{key}.py"
        (folder / name).write_text(UNSCALED, encoding="utf-8")
        (folder / f"b_{key}.py").write_text("GradScaler(\n", encoding="utf-8")
    tests = ["import sys", "import pytest", "sys.path.insert(0, '.')"]
    for number, key in enumerate([*all_keys, "q7Zp2-correct+horse"]):
        tests += [f"def test_{number}():", f"    print({key!r})", f"    raise RuntimeError({key!r})"]
        tests += [f"@pytest.mark.skip(reason={key!r})", f"def test_skipped_{number}(): pass"]
    Path("test_it.py").write_text("\n".join(tests) + "\n", encoding="utf-8")
    name = json.dumps(" ".join(KEYS.values()))
    Path("verifygate.toml").write_text(f'[project]\nname = {name}\nexclude = ["none"]\n', encoding="utf-8")
    return tmp_path


def leaked(text: str) -> list[str]:
    own = {"the environment": "q7Zp2-correct", **KEYS, **{name: key for name, (_, key) in NAMED.items()}}
    return sorted(name for name, key in own.items() if key[4:-2] in text)


def test_no_output_of_a_run_holds_a_key(project: Path) -> None:
    """Nor what is rendered of its report later, in any format, nor what goes to the job."""
    said = told("run", "--stage", "execution", "--stage", "static", "--stage", "security",
                *(f"--format={name}" for name in run_formats()))  # fmt: skip
    assert MASK in said
    assert leaked(said) == []
    files = {path.name: path.read_text("utf-8") for path in Path("reports/latest").iterdir()}
    assert "gate.md" in files
    assert "SEC104" in files["report.json"]
    assert "in the name of a file" in files["report.json"]
    assert {name: leaked(text) for name, text in files.items() if leaked(text)} == {}
    for name in ("comment", "summary", "github", "html"):
        assert leaked(told("render", "reports/latest/report.json", "--format", name)) == []
    assert leaked(told("attest", "verdict", "reports/latest/report.json")) == []


@pytest.mark.parametrize("name", check_formats())
def test_no_output_of_check_holds_a_key(project: Path, name: str) -> None:
    for _ in range(2):  # the second time from what was kept
        said = told("check", "--format", name)
        assert MASK in said
        assert leaked(said) == []


@pytest.mark.parametrize(
    "words", [("doctor",), ("baseline", "write"), ("fix",), ("check", "--form=" + KEYS["OpenAI"]), ("init",)], ids=str
)
def test_no_other_command_tells_a_key(project: Path, words: tuple[str, ...]) -> None:
    assert leaked(told(*words)) == []


def test_the_editor_is_told_no_key(project: Path) -> None:
    pytest.importorskip("lsprotocol")
    from verifygate.language_server.messages import diagnostics
    from verifygate.language_server.project import Project

    answer = Project(project).look({}, lambda: False)
    paths = [path.relative_to(project).as_posix() for path in project.rglob("*.py")]
    shown = [each for path in paths for each in diagnostics(path, answer, str, len)]
    assert any(each.code == "AMP201" for each in shown)
    assert (
        leaked(
            "\n".join(each.message + str([step.message for step in each.related_information or []]) for each in shown)
        )
        == []
    )
