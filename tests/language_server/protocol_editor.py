"""An editor that talks to the real server process, by the protocol."""

from __future__ import annotations

import asyncio
import sys
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

from lsprotocol import types
from pygls.lsp.client import LanguageClient

LOOP = """\
from torch.amp import GradScaler
import torch


def train(model, optimizer, loader):
    scaler = GradScaler()
    for batch in loader:
        optimizer.zero_grad()
        scaler.scale(model(batch)).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
"""
SECONDS = 20.0
"""After which the server counts as dead. Nothing is measured by it."""


class Editor:
    """One editor with one folder open."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.client = LanguageClient("editor", "1")
        self.shown: dict[str, types.PublishDiagnosticsParams] = {}
        """Uri -> what the server last said of it."""
        self.said: list[str] = []
        self._news = asyncio.Event()
        self._versions: dict[str, int] = defaultdict(int)

        @self.client.feature(types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)
        def publish(params: types.PublishDiagnosticsParams) -> None:
            self.shown[params.uri] = params
            self._news.set()

        @self.client.feature(types.WINDOW_SHOW_MESSAGE)
        def message(params: types.ShowMessageParams) -> None:
            self.said.append(params.message)
            self._news.set()

        @self.client.feature(types.CLIENT_REGISTER_CAPABILITY)
        def register(params: types.RegistrationParams) -> None:
            self.registered = params

    async def start(self, *, encodings: list[types.PositionEncodingKind] | None = None) -> None:
        await self.client.start_io(sys.executable, "-m", "verifygate", "lsp", cwd=self.root)
        capabilities = types.ClientCapabilities(general=types.GeneralClientCapabilities(position_encodings=encodings))
        folder = types.WorkspaceFolder(self.root.as_uri(), self.root.name)
        self.initialized = await self.client.initialize_async(
            types.InitializeParams(capabilities=capabilities, root_uri=folder.uri, workspace_folders=[folder])
        )
        self.client.initialized(types.InitializedParams())

    async def stop(self) -> int | None:
        await self.client.shutdown_async(None)
        self.client.exit(None)
        server: Any = self.client._server
        await asyncio.wait_for(server.wait(), SECONDS)
        await self.client.stop()
        return server.returncode

    def uri(self, name: str) -> str:
        return (self.root / name).as_uri()

    def open(self, name: str, text: str | None = None) -> int:
        """Open a document; the text is that of the file unless another is given. Returns its version."""
        text = (self.root / name).read_text(encoding="utf-8") if text is None else text
        self._versions[name] += 1
        item = types.TextDocumentItem(self.uri(name), "python", self._versions[name], text)
        self.client.text_document_did_open(types.DidOpenTextDocumentParams(item))
        return self._versions[name]

    def change(self, name: str, text: str) -> int:
        self._versions[name] += 1
        document = types.VersionedTextDocumentIdentifier(self._versions[name], self.uri(name))
        whole = types.TextDocumentContentChangeWholeDocument(text)
        self.client.text_document_did_change(types.DidChangeTextDocumentParams(document, [whole]))
        return self._versions[name]

    def save(self, name: str) -> None:
        document = types.TextDocumentIdentifier(self.uri(name))
        self.client.text_document_did_save(types.DidSaveTextDocumentParams(document))

    def close(self, name: str) -> None:
        document = types.TextDocumentIdentifier(self.uri(name))
        self.client.text_document_did_close(types.DidCloseTextDocumentParams(document))

    async def until(self, holds: Callable[[], object]) -> None:
        """Wait for news until something holds."""
        while not holds():
            self._news.clear()
            await asyncio.wait_for(self._news.wait(), SECONDS)

    async def diagnostics(self, name: str, version: int | None) -> list[types.Diagnostic]:
        """What is said of this version of a document."""
        uri = self.uri(name)
        await self.until(lambda: uri in self.shown and self.shown[uri].version == version)
        return list(self.shown[uri].diagnostics)

    def codes(self, name: str) -> list[object]:
        """The rules that are last said to be broken in a file."""
        shown = self.shown.get(self.uri(name))
        return [each.code for each in shown.diagnostics] if shown is not None else []

    async def hover(self, name: str, line: int, character: int) -> types.Hover | None:
        document = types.TextDocumentIdentifier(self.uri(name))
        return await self.client.text_document_hover_async(types.HoverParams(document, types.Position(line, character)))

    async def actions(self, name: str, where: types.Range) -> list[types.CodeAction]:
        document = types.TextDocumentIdentifier(self.uri(name))
        params = types.CodeActionParams(document, where, types.CodeActionContext([]))
        found = await self.client.text_document_code_action_async(params)
        return [each for each in found or [] if isinstance(each, types.CodeAction)]


def edited(text: str, edits: list[types.TextEdit]) -> str:
    """A text with edits applied as an editor applies them: positions are of the old text, in UTF-16 units."""
    rows = text.encode("utf-16-le").decode("utf-16-le").splitlines(keepends=True)

    def offset(at: types.Position) -> int:
        before = sum(len(row) for row in rows[: at.line])
        row = rows[at.line] if at.line < len(rows) else ""
        return before + len(row.encode("utf-16-le")[: 2 * at.character].decode("utf-16-le"))

    for edit in sorted(edits, key=lambda each: each.range.start, reverse=True):
        text = text[: offset(edit.range.start)] + edit.new_text + text[offset(edit.range.end) :]
    return text
