"""Where a folder lies in its repository, and where the repository lies on the web: asked without starting git."""

from __future__ import annotations

import os
import posixpath
from collections.abc import Mapping
from pathlib import Path

from verifygate.base.regular_files import repository_of


def folder_in_repository(folder: Path) -> str:
    """`services/trainer`: the way from the root of the repository down to a folder; empty at the root, and outside."""
    real = os.path.realpath(folder)
    top = repository_of(real)
    return "" if top in ("", real) else os.path.relpath(real, top).replace(os.sep, "/")


def path_in_repository(path: str, folder: str, top: str = "") -> str:
    """A path that is relative to `folder`, from the root of the repository; one that leaves it stays as it is.

    An absolute path is understood where `top`, the repository's root on this machine, is given.
    """
    if posixpath.isabs(path):
        return path.removeprefix(f"{top}/") if top else path
    joined = posixpath.normpath(posixpath.join(folder, path))
    return path if joined.startswith("../") else joined


def root_above(working_folder: str, folder: str) -> str:
    """The repository's root on this machine, given the working folder and its way down from that root."""
    return working_folder.removesuffix(f"/{folder}") if folder else working_folder


def permalink(commit: str, remote: str, environment: Mapping[str, str]) -> str:
    """The address of a commit's files, ending in a slash: what CI says of itself, else what the remote's name says.

    Empty where the audited files are not those of a commit, and where nobody says how addresses look there.
    """
    if not commit or commit == "none" or "+" in commit:
        return ""
    server, name = environment.get("GITHUB_SERVER_URL", ""), environment.get("GITHUB_REPOSITORY", "")
    if server and name and (address := web_address(f"{server}/{name}")):
        return f"{address}/blob/{commit}/"
    if address := web_address(environment.get("CI_PROJECT_URL", "")):
        return f"{address}/-/blob/{commit}/"
    address = web_address(remote)
    host = address.partition("://")[2].partition("/")[0]
    if "gitlab" in host:
        return f"{address}/-/blob/{commit}/"
    return f"{address}/blob/{commit}/" if "github" in host else ""


def web_address(remote: str) -> str:
    """`https://host/owner/name` of a remote, whatever the protocol, without the credentials in it; empty for none."""
    text = remote.strip()
    scheme, found, rest = text.partition("://")
    if not found:
        host, colon, path = text.partition(":")
        if not colon or "/" in host:  # a folder on this machine
            return ""
        rest = f"{host}/{path}"
    elif scheme not in ("http", "https", "ssh", "git"):
        return ""
    place, slash, path = rest.partition("/")
    host = place.rpartition("@")[2]
    if scheme not in ("http", "https"):
        host = host.partition(":")[0]
    path = path.strip("/").removesuffix(".git")
    good = host and slash and path and not any(each.isspace() or each in "\"'<>()[]`|\\" for each in host + path)
    return f"{'http' if scheme == 'http' else 'https'}://{host}/{path}" if good else ""
