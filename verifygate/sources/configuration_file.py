"""Files that are no Python and may set a precision: YAML, JSON, TOML, and files of command lines beside the sources."""

from __future__ import annotations

import os
import re
from functools import cached_property

from verifygate.base.digests import digest_of
from verifygate.base.regular_files import open_regular, read_regular
from verifygate.sources.byte_patterns import Alternatives

_OF_TESTS = frozenset({"tests", "test", "testdata", "fixtures"})
SCRIPTS = (
    *(".sh", ".bash", ".sbatch", ".slurm", ".pbs", ".lsf"),
    *("Makefile", "makefile", ".mk", "justfile", "Justfile", ".just"),
    *("Dockerfile", "Containerfile", ".dockerfile", "Jenkinsfile"),
)
"""How the names of files end that hold command lines."""
SUFFIXES = (".yaml", ".yml", ".json", ".toml", *SCRIPTS)
CI_FILES = (".github/workflows/*.yml", ".github/workflows/*.yaml", ".gitlab-ci.yml", ".circleci/config.yml")
_CI = re.compile(
    r"(?:^|/)(?:\.github/workflows/[^/]+|\.gitlab-ci|\.circleci/config|azure-pipelines|bitbucket-pipelines"
    r"|(?:docker-)?compose[^/]*)\.ya?ml$"
)
MAX_FILES = 2_000
"""Files that are noted: those of the folders nearest to the root."""
MAX_BYTES = 256 * 1024
"""A larger file is data."""
PRECISION_WORDS = Alternatives(
    r"precision|fp16|bf16|float16|float8|loss_scale|gradient_clip|deepspeed|dtype|use_amp|amp:|amp="
)
"""A file that matches none of these sets no precision."""


class ConfigurationFile:
    """One file, read when something asks for it. `path` is POSIX and relative to the root (or as the user gave it)."""

    def __init__(self, path: str, origin: str = "", data: bytes | None = None, *, tree: str | None = None) -> None:
        self.path = path
        self._origin = origin
        self._tree = tree
        """The folder that it came with, out of which no link is followed."""
        if data is not None:
            self.data = data

    @cached_property
    def data(self) -> bytes:
        """Its bytes; none of a file that is too large, or cannot be read."""
        if not self._origin:
            return b""
        self.stamp  # noqa: B018 - taken first: what changes meanwhile must not be known by the later one
        try:
            return read_regular(self._origin, MAX_BYTES, tree=self._tree)
        except OSError:
            return b""

    @property
    def why_not_read(self) -> str:
        """Why its bytes are not known, where it is there; that it is large is no such reason: it is data then."""
        try:
            open_regular(self._origin, tree=self._tree).close()
        except FileNotFoundError:
            return ""  # a link that leads nowhere
        except OSError as error:
            return error.strerror or "unknown"
        return ""

    @property
    def why_empty(self) -> str:
        """Why its bytes are none although there are some: it is data by its size, or cannot be read."""
        if self.data or not self._origin:
            return ""
        try:
            is_large = os.stat(self._origin).st_size > MAX_BYTES  # noqa: PTH116 - as `stamp` asks
        except OSError:
            is_large = False
        return f"it is larger than {MAX_BYTES // 1024} KiB" if is_large else self.why_not_read

    @cached_property
    def stamp(self) -> str:
        """What changes where the file does; one on disk is not read for it."""
        if not self._origin:
            return f"{self.path}\0{digest_of(self.data.decode('latin-1'))}"
        try:
            status = os.stat(self._origin)  # noqa: PTH116 - asked of every file
        except OSError:
            return self.path
        return f"{self.path}\0{status.st_size}\0{status.st_mtime_ns}\0{status.st_ctime_ns}"

    @cached_property
    def mentions_precision(self) -> bool:
        return PRECISION_WORDS.found_in(self.data)

    @cached_property
    def lines(self) -> list[str]:
        return self.data.decode("utf-8-sig", "replace").splitlines()

    @property
    def name(self) -> str:
        return self.path.rpartition("/")[2]

    @property
    def folder(self) -> str:
        return self.path.rpartition("/")[0]

    @property
    def is_test(self) -> bool:
        """Whether it lies with tests, which set what no program trains with."""
        return not _OF_TESTS.isdisjoint(self.path.split("/")[:-1])

    @property
    def is_script(self) -> bool:
        """Whether it holds command lines: a shell script, a Makefile, a Dockerfile, what Compose or CI runs."""
        return self.path.endswith(SCRIPTS) or _CI.search(self.path) is not None

    @property
    def suffix(self) -> str:
        return os.path.splitext(self.path)[1]  # noqa: PTH122 - asked of every file
