"""The server: documents in, findings out.

Everything but the analysis happens on the event loop. The analysis has a thread of its own and is one at a time: a
change that comes meanwhile ends it, and the next one begins when nothing was typed for a moment.
"""

from __future__ import annotations

import asyncio
import gc
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import TypeVar

from lsprotocol import types
from pygls import uris
from pygls.lsp.server import LanguageServer

from verifygate import __version__
from verifygate.base.errors import VerifygateError
from verifygate.base.masking import masked
from verifygate.language_server import messages
from verifygate.language_server.project import Answer, OutdatedError, Project, Text
from verifygate.static.registry import load_rules

PAUSE = 0.05
"""Seconds without a change after which the texts are analysed, where one change follows another."""
STACK_BYTES = 64 * 1024 * 1024
"""Of the thread that analyses: as deep as the analysis may recurse."""
WATCHED = ("**/*.py", "**/*.{toml,yaml,yml,json,sh}")

T = TypeVar("T")


class Tracked:
    """A project, and how far the answers to its texts have come."""

    def __init__(self, project: Project) -> None:
        self.project = project
        self.changes = 0
        """Counts what may change the answer."""
        self.answered = -1
        self.answer: Answer | None = None
        self.shown: set[str] = set()
        """The documents in which something is shown."""
        self.task: asyncio.Task[None] | None = None
        self.reads_again = True
        self.trouble = ""
        """What was last said to stand in the way."""

    @property
    def is_behind(self) -> bool:
        """Whether there are changes that the answer does not know."""
        return self.changes != self.answered


class Server(LanguageServer):
    """Serves the projects of one editor."""

    def __init__(self) -> None:
        super().__init__("verifygate", __version__, types.TextDocumentSyncKind.Full)
        self._projects: dict[Path, Tracked] = {}
        self._worker = _worker()

    def tracked(self, uri: str) -> Tracked | None:
        """The project that a document is part of: that of the innermost open folder, else the document alone.

        Nobody asked to read what lies beside a file that is open by itself: it may be all of a home folder.
        """
        path = uris.to_fs_path(uri)
        if path is None:
            return None
        open_folders = (uris.to_fs_path(each.uri) for each in self.workspace.folders.values())
        folders = [Path(each) for each in open_folders if each and Path(path).is_relative_to(each)]
        key = max(folders, key=lambda folder: len(folder.parts), default=Path(path))
        if key not in self._projects:
            project = Project(key) if folders else Project(key.parent, key.name)
            self._projects[key] = Tracked(project)
        return self._projects[key]

    def changed(self, uri: str, *, on_disk: bool = False) -> None:
        """Something of the document's project has changed: it will be analysed."""
        if (tracked := self.tracked(uri)) is not None:
            tracked.changes += 1
            tracked.reads_again |= on_disk
            if tracked.task is None or tracked.task.done():
                tracked.task = asyncio.get_running_loop().create_task(self._keep_up(tracked))

    async def settled(self, uri: str) -> tuple[Tracked, Answer, str] | None:
        """The project, the answer to its present texts, and the document's path in it; None where there is none."""
        tracked = self.tracked(uri)
        path = messages.relative(uri, tracked.project.root) if tracked is not None else None
        if tracked is None or path is None:
            return None
        if tracked.task is not None:
            await asyncio.wait([tracked.task])
        answer = tracked.answer
        present = self.workspace.get_text_document(uri).version
        if answer is None or tracked.is_behind or answer.versions.get(path) != present:
            return None
        return tracked, answer, path

    async def off_the_loop(self, call: Callable[[], T]) -> T:
        """Run something that takes long where analyses run."""
        return await asyncio.get_running_loop().run_in_executor(self._worker, call)

    async def _keep_up(self, tracked: Tracked) -> None:
        """Analyse until the answer is the one to the present texts: at once, and after changes meanwhile in a pause."""
        while tracked.is_behind:
            in_a_row = False
            while tracked.is_behind:
                at = tracked.changes
                if in_a_row:
                    await asyncio.sleep(PAUSE)
                in_a_row = True
                if at == tracked.changes:
                    await self._answer(tracked, at)
            # What the analyses leave behind goes now, and not while somebody waits. A change may come meanwhile.
            await self.off_the_loop(gc.collect)

    async def _answer(self, tracked: Tracked, at: int) -> None:
        """Analyse the texts as they stand at this change, and show what was found if no other one came."""
        try:
            answer = await self.off_the_loop(self._analysis(tracked, at))
        except OutdatedError:
            return
        except Exception as error:  # a fault of ours, or of a configuration: the last answer stays
            self._tell_trouble(tracked, error)
        else:
            tracked.trouble = ""
            if at == tracked.changes:
                tracked.answer = answer
                self._publish(tracked, answer)
        tracked.answered = at

    def _analysis(self, tracked: Tracked, at: int) -> Callable[[], Answer]:
        project = tracked.project
        reads_again, tracked.reads_again = tracked.reads_again, False
        texts = {path: Text(version, text) for path, version, text in self._texts(project.root)}

        def analyse() -> Answer:
            if reads_again:
                project.read_again()
            return project.look(texts, lambda: at != tracked.changes)

        return analyse

    def _texts(self, root: Path) -> Iterator[tuple[str, int | None, str]]:
        for document in self.workspace.text_documents.values():
            path = messages.relative(document.uri, root)
            if path is not None:
                yield path, document.version, document.source

    def _publish(self, tracked: Tracked, answer: Answer) -> None:
        """Show what was found in every file of the project, and take away what was shown before."""
        named = (each.uri for each in self.workspace.text_documents.values())  # as the client writes it, not we
        documents = {messages.relative(uri, tracked.project.root): uri for uri in named}

        def uri_of(path: str) -> str:
            return documents.get(path) or uris.from_fs_path(str(tracked.project.root / path)) or ""

        lost = (each.path for each in answer.report.not_analysed if each.mentions_amp)
        paths = {each.path for each in answer.report.findings} | {*lost, *answer.broken, *answer.versions}
        shown = set()
        for path in sorted(paths):
            found = messages.diagnostics(path, answer, uri_of, self.units)
            shown |= {uri_of(path)} if found else set()
            self._show(uri_of(path), answer.versions.get(path), found)
        for uri in sorted(tracked.shown - shown - {uri_of(path) for path in paths}):
            self._show(uri, None, [])
        tracked.shown = shown

    def _show(self, uri: str, version: int | None, found: list[types.Diagnostic]) -> None:
        self.text_document_publish_diagnostics(types.PublishDiagnosticsParams(uri, found, version))

    def units(self, text: str) -> int:
        """How many units a text has as the client counts."""
        return int(self.workspace.position_codec.client_num_units(text))

    def stop(self) -> None:
        """End what runs: nobody waits any more."""
        for tracked in self._projects.values():
            tracked.changes += 1
        self._worker.shutdown(cancel_futures=True)

    def _tell_trouble(self, tracked: Tracked, error: Exception) -> None:
        """Say once what stands in the way."""
        own = isinstance(error, VerifygateError)
        said = f"verifygate: {error}" if own else f"verifygate itself broke: {type(error).__name__}: {error}"
        if said != tracked.trouble:
            tracked.trouble = said
            self.window_show_message(types.ShowMessageParams(types.MessageType.Error, masked(said)))


def _worker() -> ThreadPoolExecutor:
    """One thread with a large stack, with the rules loaded before anybody asks for them."""
    worker = ThreadPoolExecutor(1, thread_name_prefix="analysis")
    before = threading.stack_size(STACK_BYTES)
    worker.submit(_get_ready)  # the first call starts the thread
    threading.stack_size(before)
    return worker


def _get_ready() -> None:
    load_rules()
    gc.collect()
    gc.freeze()  # what is loaded stays: no collection has to look through it again


def serve() -> None:
    """Serve on standard input and output until the client ends it."""
    server = made()
    try:
        server.start_io()
    finally:
        server.stop()


def made() -> Server:
    """A server with its features."""
    server = Server()

    @server.feature(types.INITIALIZED)
    async def initialized(_params: types.InitializedParams) -> None:
        capabilities = server.client_capabilities.workspace
        watches = capabilities.did_change_watched_files if capabilities else None
        if watches is not None and watches.dynamic_registration:
            patterns = [types.FileSystemWatcher(glob_pattern=each) for each in WATCHED]
            asks = types.Registration(
                "files",
                types.WORKSPACE_DID_CHANGE_WATCHED_FILES,
                types.DidChangeWatchedFilesRegistrationOptions(watchers=patterns),
            )
            await server.client_register_capability_async(types.RegistrationParams([asks]))

    @server.feature(types.TEXT_DOCUMENT_DID_OPEN)
    async def opened(params: types.DidOpenTextDocumentParams) -> None:
        server.changed(params.text_document.uri, on_disk=True)

    @server.feature(types.TEXT_DOCUMENT_DID_CHANGE)
    async def changed(params: types.DidChangeTextDocumentParams) -> None:
        server.changed(params.text_document.uri)

    @server.feature(types.TEXT_DOCUMENT_DID_SAVE)
    async def saved(params: types.DidSaveTextDocumentParams) -> None:
        server.changed(params.text_document.uri, on_disk=True)

    @server.feature(types.TEXT_DOCUMENT_DID_CLOSE)
    async def closed(params: types.DidCloseTextDocumentParams) -> None:
        server.changed(params.text_document.uri, on_disk=True)

    @server.feature(types.WORKSPACE_DID_CHANGE_WATCHED_FILES)
    async def watched(params: types.DidChangeWatchedFilesParams) -> None:
        for change in params.changes:
            server.changed(change.uri, on_disk=True)

    @server.feature(types.TEXT_DOCUMENT_HOVER)
    async def hover(params: types.HoverParams) -> types.Hover | None:
        settled = await server.settled(params.text_document.uri)
        if settled is None:
            return None
        _, answer, path = settled
        return messages.hover(path, params.position, answer, server.units)

    @server.feature(
        types.TEXT_DOCUMENT_CODE_ACTION, types.CodeActionOptions(code_action_kinds=[types.CodeActionKind.QuickFix])
    )
    async def code_actions(params: types.CodeActionParams) -> list[types.CodeAction] | None:
        return await _code_actions(server, params)

    return server


async def _code_actions(server: Server, params: types.CodeActionParams) -> list[types.CodeAction] | None:
    """The proven fixes of what stands in the range."""
    only = params.context.only
    if only is not None and not any(types.CodeActionKind.QuickFix.value.startswith(str(kind)) for kind in only):
        return None
    settled = await server.settled(params.text_document.uri)
    if settled is None:
        return None
    tracked, answer, path = settled
    document = types.OptionalVersionedTextDocumentIdentifier(params.text_document.uri, answer.versions.get(path))
    found = []
    for finding in messages.findings_in(path, params.range, answer, server.units):
        try:
            draft = await server.off_the_loop(partial(answer.proven_draft, finding, lambda: tracked.is_behind))
        except OutdatedError:
            return None
        if draft is not None:
            found.append(messages.code_action(draft, answer, document, server.units))
    return found
