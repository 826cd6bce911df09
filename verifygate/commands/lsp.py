"""`verifygate lsp`: the language server, on standard input and output."""

from __future__ import annotations

import click


@click.command()
def lsp() -> int:
    """Serve an editor by the Language Server Protocol, on standard input and output."""
    try:
        from verifygate.language_server.server import serve
    except ImportError as error:
        if (error.name or "").partition(".")[0] not in ("pygls", "lsprotocol", "cattrs", "attrs"):
            raise
        from verifygate.base.distribution import install
        from verifygate.base.errors import UsageError

        remedy = f"install it: {install('lsp')}"
        raise UsageError(f"the language server needs pygls ({error.name} is missing)", remedy=remedy) from error
    serve()
    return 0
