"""Symbolic links to source files: one module, or two?

A link is the file that it leads to where its imports mean the same modules from both folders. Then one of them is
analysed. Where an import means another module beside the link, the same text is another program: both are.
"""

from __future__ import annotations

from verifygate.sources.file import SourceFile
from verifygate.sources.import_resolution import LOADS_BY_NAME, ImportResolver, Loaded
from verifygate.sources.tree import Sources


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
    return None if any(word in link.data for word in LOADS_BY_NAME) else home


def _agree(one: Loaded, other: Loaded, same: dict[str, str]) -> bool:
    """Whether imports load the same files, if the links that are assumed to be their files are."""
    seen = ([[same.get(path, path) for path in files] for files in each] for each in (one, other))
    return one == other or next(seen) == next(seen)
