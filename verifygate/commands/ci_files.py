"""The files that `verifygate init --ci` writes: the gate as a job of GitHub Actions or of GitLab CI.

The files are templates in `workflows/`, with `[[ ]]` around what is filled in, since both services write `$` and
`{{ }}` themselves. Only paths and names of branches are filled in from outside, quoted as YAML reads them.
"""

from __future__ import annotations

import importlib.metadata
import json
import re
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import unquote, urlsplit

from verifygate import __version__
from verifygate.base.distribution import DISTRIBUTION
from verifygate.base.errors import UsageError
from verifygate.report import gitlab, junit
from verifygate.report.comment import marker
from verifygate.sources import git
from verifygate.sources.repository import folder_in_repository, web_address

PYTHON = "3.12"
CPU_TORCH = "python -m pip install torch --index-url https://download.pytorch.org/whl/cpu"
ACTIONS = {
    "checkout": "actions/checkout@3d3c42e5aac5ba805825da76410c181273ba90b1 # v7.0.1",
    "setup_python": "actions/setup-python@ece7cb06caefa5fff74198d8649806c4678c61a1 # v6.3.0",
    "upload_artifact": "actions/upload-artifact@bbbca2ddaa5d8feaa63e36b76fdaad77386f024f # v7.0.0",
    "download_artifact": "actions/download-artifact@3e5f45b2cfb9172054b4087a40e8e0b5a5461e7c # v8.0.1",
}
"""Each is a full hash, so that what runs cannot change; a tag can be moved. This repository's own workflows use the
same ones."""


def written(service: str, folder: Path) -> tuple[list[str], str]:
    """Write the files of a service for the project in `folder`: their paths from the root of the repository, and what
    is left to do. Raises UsageError where one of them is there already: nothing is overwritten, and none is written."""
    below = folder_in_repository(folder)
    top = folder.resolve().parents[len(Path(below).parts) - 1] if below else folder.resolve()
    made, left = (_github if service == "github" else _gitlab)(below, folder, top)
    for name in made:
        if (top / name).exists():
            raise UsageError(
                "the file already exists, and is not overwritten",
                where=name,
                remedy="rename it to have a new one written, and take over what you need",
            )
    for name, text in made.items():
        try:
            (top / name).parent.mkdir(parents=True, exist_ok=True)
            with (top / name).open("x", encoding="utf-8") as file:
                file.write(text)
        except OSError as error:
            problem = f"cannot be written: {error.strerror}"
            raise UsageError(problem, where=name, remedy="run it where you can write to the repository") from None
    return list(made), left


def _github(below: str, folder: Path, _top: Path) -> tuple[Mapping[str, str], str]:
    name = f".github/workflows/verifygate{_suffix(below)}.yml"
    return {name: _filled("github.yml", below, folder)}, "look through its install step, and commit it"


def _gitlab(below: str, folder: Path, top: Path) -> tuple[Mapping[str, str], str]:
    """A file of its own, and `.gitlab-ci.yml` to include it where the repository has none yet."""
    name = f".gitlab/verifygate{_suffix(below)}.yml"
    include = f"include:\n  - local: {name}\n"
    files = {name: _filled("gitlab.yml", below, folder)}
    if (top / ".gitlab-ci.yml").exists():
        return files, f"add `- local: {name}` below `include:` in .gitlab-ci.yml, and commit it"
    return files | {".gitlab-ci.yml": include}, "look through its install lines, and commit it"


def _suffix(below: str) -> str:
    """What tells the files and jobs of several projects of a repository apart: `-services-trainer`."""
    words = re.findall(r"[A-Za-z0-9_]+", below)
    return "".join(f"-{word}" for word in words)


def _filled(template: str, below: str, folder: Path) -> str:
    import jinja2

    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(Path(__file__).parent / "workflows"),
        undefined=jinja2.StrictUndefined,
        block_start_string="[%",
        block_end_string="%]",
        variable_start_string="[[",
        variable_end_string="]]",
        keep_trailing_newline=True,
        autoescape=False,  # noqa: S701 - it is YAML; what is filled in is quoted here
    )
    reports = f"{below}/reports/latest" if below else "reports/latest"
    source = own_source()
    filled: dict[str, Any] = {
        "suffix": _suffix(below),
        "branches": json.dumps([git.default_branch(folder)]),
        "folder": json.dumps(below or "."),
        "shell_folder": shlex.quote(below) if below else "",
        "actions": ACTIONS,
        "python": PYTHON,
        "install": _install_lines(folder),
        "example": f"{DISTRIBUTION}=={__version__}",
        "requirement": json.dumps(source.requirement),
        "source": json.dumps(source.address),
        "commit": json.dumps(source.commit),
        "install_self": _INSTALL_SELF.format(python="verifygate/bin/python"),
        "install_for_comment": _INSTALL_SELF.format(python="python"),
        "marker": marker(below),
        "artifact": f"verifygate{_suffix(below)}",
        "report_path": json.dumps(reports),
        "gitlab_report": json.dumps(f"{reports}/{gitlab.FILES[0]}"),
        "junit_report": json.dumps(f"{reports}/{junit.FILES[0]}"),
    }
    return environment.get_template(template).render(filled)


def _install_lines(folder: Path) -> list[str]:
    """How the project is installed, as far as its files tell: torch first, so that nothing brings another one, and
    last what its tests run under, where nothing brought it."""
    files = [
        f"python -m pip install -r {name}"
        for name in ("requirements.txt", "requirements-dev.txt", "requirements-test.txt")
        if (folder / name).is_file()
    ]
    packaged = any((folder / name).is_file() for name in ("pyproject.toml", "setup.py"))
    own = ["python -m pip install -e ."] if packaged else []
    return [CPU_TORCH, *files, *own, "python -m pip install pytest coverage"]


_INSTALL_SELF = """\
if [ -n "$VERIFYGATE" ]; then
  {python} -I -m pip install "$VERIFYGATE"
elif [ -z "$VERIFYGATE_SOURCE" ] || [ -z "$VERIFYGATE_COMMIT" ]; then
  echo "error: nothing says where verifygate is installed from: set VERIFYGATE_SOURCE and VERIFYGATE_COMMIT" >&2
  exit 2
else
  git init --quiet verifygate-source
  git -C verifygate-source fetch --quiet --depth 1 "$VERIFYGATE_SOURCE" "$VERIFYGATE_COMMIT"
  git -C verifygate-source reset --quiet --hard FETCH_HEAD
  {python} -I -m pip install --require-hashes -r verifygate-source/requirements-hashed.txt
  {python} -I -m pip install --no-deps --no-build-isolation ./verifygate-source
fi"""
"""What a job does in an empty folder outside of the checkout; `python` is the one that gets verifygate."""


class OwnSource(NamedTuple):
    """Where this installation of verifygate comes from, so that a job can install the same; all empty: nobody knows."""

    address: str = ""
    commit: str = ""
    requirement: str = ""
    """What pip found in the package index."""

    @property
    def words(self) -> str:
        if self.commit:
            return f"it installs verifygate from {self.commit[:12]} of {self.address}"
        if self.requirement:
            return f"it installs {self.requirement} from the package index"
        return (
            "it installs what VERIFYGATE_SOURCE and VERIFYGATE_COMMIT in the file name, and fails until they name a "
            "repository of verifygate and a commit: this installation has none"
        )


def own_source() -> OwnSource:
    """The commit that this installation was made from, as pip noted it; that of the clone, where it was a folder."""
    try:
        text = importlib.metadata.distribution(DISTRIBUTION).read_text("direct_url.json")
        if text is None:  # pip notes an address, and for the index there is none
            return OwnSource(requirement=f"{DISTRIBUTION}=={__version__}")
        noted = json.loads(text)
    except (importlib.metadata.PackageNotFoundError, ValueError):
        return OwnSource()
    url, commit = str(noted.get("url", "")), str(noted.get("vcs_info", {}).get("commit_id", ""))
    if url.startswith("file://"):
        clone = Path(unquote(urlsplit(url).path))
        url, commit = git.remote(clone), git.head(clone)[0]
    address = web_address(url)
    return OwnSource(address, commit) if address and commit else OwnSource()
