"""Whether a text is a Python program: what the name of a file leaves open."""

from __future__ import annotations

from verifygate.sources.file import AMP_WORDS


def is_program(data: bytes) -> bool:
    """Whether it is Python that calls or imports something, or begins by naming Python: settings and prose do not."""
    if data.startswith(b"#!") and b"python" in data.partition(b"\n")[0]:
        return True
    import ast  # for few files
    import warnings

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(data)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return any(isinstance(node, ast.Call | ast.Import | ast.ImportFrom) for node in ast.walk(tree))


def is_amp_program(data: bytes) -> bool:
    """Whether it is a Python program that mentions AMP."""
    return AMP_WORDS.found_in(data.replace(b"&amp;", b"")) and is_program(data)
