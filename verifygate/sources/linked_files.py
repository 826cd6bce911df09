"""Symbolic links to source files: one module, or two?

A link is the file that it leads to where its imports mean the same modules from both folders. Then one of them is
analysed. Where an import means another module beside the link, or a name another configuration, the same text is
another program: both are.
"""

from __future__ import annotations

from verifygate.sources.file import SourceFile
from verifygate.sources.import_resolution import LOADS_BY_NAME, ImportResolver, Loaded
from verifygate.sources.tree import Sources

_NAMES_CONFIGURATION = (b".yaml", b".yml", b".json", b".toml", b"hydra")


def one_of_each(sources: Sources) -> Sources:
    """The sources without the links that are the files they lead to: these are their `links`."""
    homes = {file: home for file in sources if file.twin and (home := _home(file, sources)) is not None}
    if not homes:
        return sources
    resolver = ImportResolver(sources)
    loaded = {file.path: list(resolver.loaded(file)) for file in (*homes, *homes.values())}
    same = {link.path: home.path for link, home in homes.items()}
    # Assume it of all, and drop what contradicts that until nothing does: links may import one another in a circle.
    while differing := [link for link, home in same.items() if not _agree(loaded[link], loaded[home], same)]:
        for link in differing:
            del same[link]
    links = [file for file in homes if file.path in same]
    rest = [file for file in sources if file.path not in same]
    return Sources(rest, sources.unreadable, sources.configuration, links)


def _home(link: SourceFile, sources: Sources) -> SourceFile | None:
    """The file that a link leads to, where only their imports may tell the two apart."""
    home = sources.get(link.twin)
    if home is None or not link.path.endswith(".py") or (home.data, home.is_test) != (link.data, link.is_test):
        return None
    by_name = any(word in link.data for word in LOADS_BY_NAME) or _may_be_configured(link, sources)
    return None if by_name else home


def _may_be_configured(link: SourceFile, sources: Sources) -> bool:
    """Whether it names a configuration, and one lies below the link's folder: it may be another than the file's."""
    if not any(word in link.data for word in _NAMES_CONFIGURATION):
        return False
    below = f"{link.folder}/" if link.folder else ""
    return any(each.path.startswith(below) for each in sources.configuration if not each.is_script)


def _agree(one: Loaded, other: Loaded, same: dict[str, str]) -> bool:
    """Whether imports load the same files, if the links that are assumed to be their files are."""
    seen = ([[same.get(path, path) for path in files] for files in each] for each in (one, other))
    return one == other or next(seen) == next(seen)
