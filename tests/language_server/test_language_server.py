"""The language server, as an editor meets it: the real process, by the protocol."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner
from lsprotocol import types
from planted_git import Planted, plant_all
from protocol_editor import LOOP, Editor, edited

from verifygate.cli import main
from verifygate.commands import cli
from verifygate.model import Applicability
from verifygate.static.registry import load_rules

FIXED = LOOP.replace("        torch.nn", "        scaler.unscale_(optimizer)\n        torch.nn")
CLIPS = 9
"""The line of the clip, from 0."""
CASES = Path(__file__).parent.parent / "static" / "cases"
UNSAFE = [
    code for code, each in load_rules().items() if each.rule.fix is Applicability.UNSAFE and code.startswith("AMP")
]
Play = Callable[..., None]


def test_it_shows_the_fault_of_an_opened_file_and_takes_it_away_when_it_is_corrected(folder: Path, in_editor: Play):
    (folder / "train.py").write_text(LOOP, encoding="utf-8")

    async def scene(editor: Editor) -> None:
        (shown,) = await editor.diagnostics("train.py", editor.open("train.py"))
        assert (shown.code, shown.source) == ("AMP201", "verifygate")
        assert shown.severity is types.DiagnosticSeverity.Error
        line = LOOP.splitlines()[CLIPS]
        assert shown.range == types.Range(types.Position(CLIPS, 8), types.Position(CLIPS, len(line)))
        assert "unscale_" in shown.message
        assert await editor.diagnostics("train.py", editor.change("train.py", FIXED)) == []
        assert (folder / "train.py").read_text(encoding="utf-8") == LOOP

    in_editor(scene)


def test_it_says_what_check_says(folder: Path, in_editor: Play, monkeypatch, capsys: pytest.CaptureFixture[str]):
    """The same findings at the same places, of every file, with the configuration in force."""
    (folder / "verifygate.toml").write_text('[static]\nignore = ["AMP501"]\n', encoding="utf-8")
    (folder / "fit").mkdir()
    (folder / "fit" / "loop.py").write_text(LOOP, encoding="utf-8")
    old = "import torch\n\n\ndef g(m):\n    with torch.cuda.amp.autocast():\n        m.loss().backward()\n"
    (folder / "other.py").write_text(old, encoding="utf-8")
    monkeypatch.chdir(folder)
    main(["check", "--format", "json", "--no-cache"])
    report = json.loads(capsys.readouterr().out)
    said = {
        (each["rule"], place["path"], place["line"] - 1)
        for each in report["findings"]
        for place in ({"path": each["path"], "line": each["line"]}, *each["places"])
    }
    assert {code for code, _, _ in said} >= {"AMP101", "AMP201"}

    async def scene(editor: Editor) -> None:
        await editor.diagnostics("other.py", editor.open("other.py"))
        await editor.until(lambda: len(editor.shown) == 2)
        shown = {
            (each.code, Path(uri_path(uri)).relative_to(folder).as_posix(), each.range.start.line)
            for uri, params in editor.shown.items()
            for each in params.diagnostics
        }
        assert shown == said

    in_editor(scene)


def uri_path(uri: str) -> str:
    from urllib.parse import unquote, urlparse

    return unquote(urlparse(uri).path)


def test_unsaved_text_counts_for_the_other_files(folder: Path, in_editor: Play):
    """The helper is corrected in the editor and not on the disk: the fault of the loop that calls it is gone."""
    (folder / "helper.py").write_text(
        "import torch\n\n\ndef clip(model, scaler, optimizer):\n"
        "    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)\n",
        encoding="utf-8",
    )
    loop = LOOP.replace("import torch\n", "from helper import clip\n", 1)
    loop = loop.replace("torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)", "clip(model, scaler, optimizer)")
    (folder / "train.py").write_text(loop, encoding="utf-8")
    wrong = (folder / "helper.py").read_text(encoding="utf-8")
    right = wrong.replace("    torch.nn", "    scaler.unscale_(optimizer)\n    torch.nn")

    def faults(editor: Editor) -> list[object]:
        return [*editor.codes("train.py"), *editor.codes("helper.py")]

    async def scene(editor: Editor) -> None:
        await editor.diagnostics("helper.py", editor.open("helper.py"))
        await editor.until(lambda: "AMP201" in faults(editor))
        await editor.diagnostics("helper.py", editor.change("helper.py", right))
        await editor.until(lambda: not faults(editor))
        editor.close("helper.py")  # what counts is the disk again
        await editor.until(lambda: "AMP201" in faults(editor))

    in_editor(scene)


def test_a_broken_text_is_named_and_the_other_files_keep_what_was_said_of_them(folder: Path, in_editor: Play):
    (folder / "train.py").write_text(LOOP, encoding="utf-8")
    (folder / "other.py").write_text(LOOP.replace("1.0", "2.0"), encoding="utf-8")

    async def scene(editor: Editor) -> None:
        await editor.diagnostics("train.py", editor.open("train.py"))
        await editor.until(lambda: editor.codes("other.py") == ["AMP201"])
        (told,) = await editor.diagnostics("train.py", editor.change("train.py", f"{LOOP}def f(:\n"))
        assert told.code is None
        assert told.severity is types.DiagnosticSeverity.Information
        assert told.message.startswith("not analysed: line 13: ")
        assert told.range.start.line == 12
        assert editor.codes("other.py") == ["AMP201"]
        again = editor.change("other.py", FIXED) if editor.open("other.py") else 0
        assert await editor.diagnostics("other.py", again) == []
        (shown,) = await editor.diagnostics("train.py", editor.change("train.py", LOOP))
        assert shown.code == "AMP201"

    in_editor(scene)


def test_hover_shows_the_page_of_the_rule(folder: Path, in_editor: Play):
    (folder / "train.py").write_text(LOOP, encoding="utf-8")
    page = CliRunner().invoke(cli, ["explain", "AMP201"]).output

    async def scene(editor: Editor) -> None:
        await editor.diagnostics("train.py", editor.open("train.py"))
        shown = await editor.hover("train.py", CLIPS, 12)
        assert shown is not None
        assert isinstance(shown.contents, types.MarkupContent)
        assert shown.contents.value.strip() == page.strip()
        assert await editor.hover("train.py", 0, 0) is None

    in_editor(scene)


@pytest.mark.parametrize("ends", ["\n", "\r\n"])
def test_a_proven_fix_is_offered_as_edits_of_the_version(folder: Path, in_editor: Play, ends: str):
    """Applied as an editor applies them, they take the finding away and keep the line ends."""
    text = ("# 🚀\n" + LOOP).replace("\n", ends)

    async def scene(editor: Editor) -> None:
        editor.open("train.py", "")
        (shown,) = await editor.diagnostics("train.py", editor.change("train.py", text))
        (action,) = await editor.actions("train.py", shown.range)
        assert action.title == "Fix AMP201 clip-before-unscale"
        assert action.edit is not None
        (change,) = action.edit.document_changes or ()
        assert isinstance(change, types.TextDocumentEdit)
        assert change.text_document == types.OptionalVersionedTextDocumentIdentifier(editor.uri("train.py"), 2)
        after = edited(text, list(change.edits))
        assert after == ("# 🚀\n" + FIXED).replace("\n", ends)
        assert await editor.diagnostics("train.py", editor.change("train.py", after)) == []
        assert await editor.actions("train.py", shown.range) == []

    in_editor(scene)


def test_no_fix_is_offered_that_a_person_has_to_review(folder: Path, in_editor: Play):
    """`verifygate fix` writes it with --unsafe only."""
    case = next(iter(sorted(CASES.glob(f"{UNSAFE[0]}/bad_*.py"))))
    text = case.read_text(encoding="utf-8")

    async def scene(editor: Editor) -> None:
        shown = await editor.diagnostics("train.py", editor.open("train.py", text))
        assert set(UNSAFE) & {each.code for each in shown}
        for each in shown:
            if each.code in UNSAFE:
                assert await editor.actions("train.py", each.range) == []

    in_editor(scene)


@pytest.mark.parametrize(
    ("encodings", "column"),
    [(None, 10), ([types.PositionEncodingKind.Utf32], 9), ([types.PositionEncodingKind.Utf8], 12)],
)
def test_columns_are_in_the_units_of_the_client(folder: Path, in_editor: Play, encodings, column: int):
    """UTF-16 if it asks for nothing else: there an emoji takes two."""
    text = LOOP.replace("        torch.nn", "        '🚀'; torch.nn").replace("1.0)", "1.0)  # 🚀")
    start = 8 + 5 + column - 9

    async def scene(editor: Editor) -> None:
        (shown,) = await editor.diagnostics("train.py", editor.open("train.py", text))
        assert shown.code == "AMP201"
        assert shown.range.start == types.Position(CLIPS, start)

    in_editor(scene, encodings=encodings)


def test_a_configuration_that_is_wrong_is_said_and_the_server_goes_on(folder: Path, in_editor: Play):
    (folder / "train.py").write_text(LOOP, encoding="utf-8")

    async def scene(editor: Editor) -> None:
        await editor.diagnostics("train.py", editor.open("train.py"))
        (folder / "verifygate.toml").write_text('[static]\nignore = ["AMP2O1"]\n', encoding="utf-8")
        editor.save("train.py")
        await editor.until(lambda: editor.said)
        assert "AMP2O1" in editor.said[0]
        assert "verifygate.toml" in editor.said[0]
        assert editor.codes("train.py") == ["AMP201"]
        (folder / "verifygate.toml").write_text('[static]\nignore = ["AMP201"]\n', encoding="utf-8")
        editor.save("train.py")
        await editor.until(lambda: not editor.codes("train.py"))

    in_editor(scene)


def test_the_last_of_many_quick_changes_is_the_one_that_is_answered(folder: Path, in_editor: Play):
    (folder / "train.py").write_text(LOOP, encoding="utf-8")

    async def scene(editor: Editor) -> None:
        editor.open("train.py")
        versions = [editor.change("train.py", f"{LOOP}# {number}\n") for number in range(40)]
        versions.append(editor.change("train.py", FIXED))
        assert await editor.diagnostics("train.py", versions[-1]) == []

    in_editor(scene)


def test_a_file_of_an_environment_is_none_of_the_project(folder: Path, in_editor: Play):
    (folder / ".venv").mkdir()
    (folder / ".venv" / "loop.py").write_text(LOOP, encoding="utf-8")

    async def scene(editor: Editor) -> None:
        editor.open(".venv/loop.py")
        (shown,) = await editor.diagnostics("train.py", editor.open("train.py", LOOP))
        assert shown.code == "AMP201"
        assert editor.codes(".venv/loop.py") == []

    in_editor(scene)


def test_a_file_outside_of_every_open_folder_is_looked_at_alone(folder: Path, in_editor: Play, tmp_path: Path):
    """Nothing is read that lies beside it."""
    beside = tmp_path / "beside"
    beside.mkdir()
    for name in ("alone.py", "other.py"):
        (beside / name).write_text(LOOP, encoding="utf-8")
    name = "../beside/alone.py"

    async def scene(editor: Editor) -> None:
        editor.uri = lambda name: (beside / Path(name).name).as_uri()  # type: ignore[method-assign]
        (shown,) = await editor.diagnostics(name, editor.open(name))
        assert shown.code == "AMP201"
        assert list(editor.shown) == [editor.uri(name)]

    in_editor(scene)


def test_without_pygls_one_line_says_what_to_install(monkeypatch, capsys: pytest.CaptureFixture[str]):
    import builtins

    real = builtins.__import__

    def missing(name: str, *arguments, **options):
        if name == "verifygate.language_server.server":
            raise ModuleNotFoundError("No module named 'pygls'", name="pygls")
        return real(name, *arguments, **options)

    monkeypatch.setattr(builtins, "__import__", missing)
    assert main(["lsp"]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert "pip install 'verifygate-amp[lsp]'" in line


def test_it_starts_nothing_that_the_repository_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    planted = Planted(tmp_path)
    plant_all(planted, monkeypatch.setenv)

    async def scene() -> None:
        editor = Editor(planted.root)
        await editor.start()
        await editor.diagnostics("train.py", editor.open("train.py"))
        assert await editor.stop() == 0

    asyncio.run(scene())
    assert planted.has_run == ""
