"""Which file of the project an import means, told without parsing any."""

from __future__ import annotations

from verifygate.sources.tree import SourceFile, Sources


class Imports:
    """The way from an import to a file under audit."""

    def __init__(self, sources: Sources) -> None:
        self.sources = sources
        self._located: dict[tuple[str, str, int, bool], str | None] = {}

    def located(self, name: str, importer: SourceFile, level: int = 0) -> str | None:
        """The file that `import name` means in `importer`: next to it, or below one of its parents."""
        key = (name, importer.folder, level, importer.is_relative)
        if key not in self._located:
            self._located[key] = self._find(name, importer, level)
        return self._located[key]

    def may_bind(self, path: str, name: str) -> bool:
        """Whether a file, or one of which it imports everything, may bind a name at its top level."""
        seen, stack = {path}, [path]
        while stack:
            file = self.sources.get(stack.pop())
            if file is None:
                continue
            if file.may_bind(name):
                return True
            for source in file.stars:
                dotted = source.lstrip(".")
                inside = self.located(dotted, file, len(source) - len(dotted))
                if inside is not None and inside not in seen:
                    seen.add(inside)
                    stack.append(inside)
        return False

    def _find(self, name: str, importer: SourceFile, level: int) -> str | None:
        start = "/" if importer.path.startswith("/") else ""
        """What stands before the folders of a path: they end in `/`, so that a name can follow."""
        folders = importer.folder.removeprefix("/").split("/") if importer.folder else []
        below = [start + "".join(f"{each}/" for each in folders[:count]) for count in range(len(folders), -1, -1)]
        parts = name.replace(".", "/")
        if level:
            return self._at(below[min(level, len(below)) - 1], parts)
        of_torch = name.partition(".")[0] == "torch"
        for base in below:
            inside = of_torch or (importer.is_relative and base == below[0])
            if inside and self.sources.get(f"{base}__init__.py") is not None:
                continue  # `import torch` means torch, whatever lies beside what is imported as part of a package
            if found := self._at(base, parts) or self._at(f"{base}src/", parts):
                return found
        return None

    def _at(self, folder: str, parts: str) -> str | None:
        base = folder + parts if parts else folder[:-1]
        for path in (f"{base}.py", f"{base}/__init__.py") if base else ("__init__.py",):
            if self.sources.get(path) is not None:
                return path
        return None
