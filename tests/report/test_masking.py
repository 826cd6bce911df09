"""A secret in what a run tells is in no output of it; what only looks like one stays."""

from __future__ import annotations

import html
import io
import json
import re
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from urllib.parse import quote

import pytest

from verifygate.base.masking import MASK, masked
from verifygate.cli import main
from verifygate.execution.scrub import Scrubber
from verifygate.report.formats import check_formats, run_formats

OF_THE_MACHINE = "q7Zp2-correct+horse"
HUGGING_FACE = "hf_" + "QwErTyUiOpAsDfGhJkLzXcVbNmQwErTyUi"
SLACK = "xoxb-" + "384756102938-Kq3VtY8wZr1LmN5bX9cD2e"
SECRETS = {
    "a value of the environment": (f"login with {OF_THE_MACHINE} failed", OF_THE_MACHINE),
    "a key of a service": (f"assert key == '{HUGGING_FACE}'", HUGGING_FACE),
    "a key in a path": (f"data/{SLACK}/weights.pt", SLACK),
    "a password in a URL": ("cannot fetch https://me:Tr0ub4dor@host.example/x.git", "Tr0ub4dor"),
    "an assignment": ("refused: api_key=9f8a7d6b5c4e3f2a1b0c", "9f8a7d6b5c4e3f2a1b0c"),
    "a header": ("Authorization: Bearer a1B2c3D4e5F6g7H8", "a1B2c3D4e5F6g7H8"),
}
HARMLESS = (
    "token = tokenizer.encode(text)",
    "token=layer1_attention_mask2",
    "assert secret == expected_secret_value",
    "password: (hidden)",
    "http://localhost:8000/a@b",
    "commit 845012fc9a7b6c5d4e3f2a1b0c9d8e7f6a5b4c3d",
    "TOKENIZERS_PARALLELISM=false",
    "api_key=EXAMPLE1a2b3c4d5e6f",
    "the scaler's scale is 65536.0, not 32768.0",
)


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOUSE_API_TOKEN", OF_THE_MACHINE)
    monkeypatch.setenv("HOUSE_PASSWORD", "password")
    monkeypatch.setenv("TOKENIZERS_PARALLELISM", "parallelism-1")
    monkeypatch.setenv("HOUSE_CREDENTIALS", "/etc/house/key-1")


@pytest.mark.parametrize("kind", SECRETS)
def test_a_secret_is_masked_and_nothing_else(kind: str) -> None:
    text, secret = SECRETS[kind]
    assert masked(text) == text.replace(secret, MASK)


@pytest.mark.parametrize(
    "write",
    [repr, json.dumps, html.escape, lambda text: quote(text, safe=" "), lambda text: re.sub(r"(\W)", r"\\\1", text)],
    ids=["Python", "JSON", "HTML", "a URL", "Markdown"],
)
def test_a_value_is_found_however_it_is_written(monkeypatch: pytest.MonkeyPatch, write: Callable[[str], str]) -> None:
    secret = "w8\"Xy3Zq7<&Ab'c\\d*e"
    monkeypatch.setenv("HOUSE_SIGNING_KEY", secret)
    assert masked(write(f"a {secret} b")) == write(f"a {secret} b").replace(write(secret).strip("\"'"), MASK)
    assert "Xy3Zq7" not in masked(write(f"a {secret} b"))


@pytest.mark.parametrize("text", [*HARMLESS, "a password", "parallelism-1", "/etc/house/key-1"])
def test_what_is_no_secret_stays(text: str) -> None:
    assert masked(text) == text


def test_a_secret_is_masked_before_its_text_is_cut(tmp_path: Path) -> None:
    shown = Scrubber(tmp_path, tmp_path).text("x" * 280 + " " + HUGGING_FACE, limit=300)
    assert HUGGING_FACE[:6] not in shown


@pytest.mark.parametrize("kind", SECRETS)
def test_no_output_of_a_run_holds_a_secret(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every format of `run`, its lines on the terminal, and every format of the stored report."""
    text, secret = SECRETS[kind]

    def breaks(*_: object, **__: object) -> None:
        raise RuntimeError(text)

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("verifygate.static.engine.analyse", breaks)
    Path("train.py").write_text("scaler = GradScaler()\n", encoding="utf-8")
    told = io.StringIO()
    with redirect_stdout(told), redirect_stderr(told):
        assert main(["run", "--stage", "static", *(f"--format={name}" for name in run_formats())]) == 1
        assert main(["render", "reports/latest/report.json", "--format", "html"]) == 0
    files = {path.name: path.read_text(encoding="utf-8") for path in Path("reports/latest").iterdir()}
    assert {"gate.md", "report.json", "report.html", "report.sarif"} <= files.keys()
    assert not [name for name, content in files.items() if secret in content]
    assert secret not in told.getvalue()
    assert MASK in json.loads(files["report.json"])["stages"][0]["reason"]


@pytest.mark.parametrize("name", check_formats())
def test_no_output_of_check_holds_a_secret(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A name in the source is told in a message."""
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / SLACK
    folder.mkdir()
    (folder / "train.py").write_text("from torch.cuda.amp import GradScaler\nscaler = GradScaler()\n", encoding="utf-8")
    told = io.StringIO()
    with redirect_stdout(told), redirect_stderr(told):
        main(["check", f"--format={name}", "--no-cache", "."])
    assert MASK in told.getvalue()
    assert SLACK not in told.getvalue()


def test_an_error_of_the_command_line_holds_none(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", str(tmp_path / SLACK)]) == 2
    assert (SLACK in capsys.readouterr().err) is False
