"""Resolve `from module import *`: the names that a file gets from others by it."""

from __future__ import annotations

from verifygate.sources.file import SourceFile
from verifygate.static.symbols.program import Module, Program


class StarImports:
    """Tells which file binds a global name: asked for every builtin, so only files with a star look further."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self._binders: dict[tuple[str, Module], Module | None] = {}
        self._reach: dict[str, list[SourceFile]] = {}
        """File -> itself, and the files of which it imports everything, directly or not."""
        self._may: dict[tuple[str, str], bool] = {}
        """File and name -> whether one of those may bind the name."""

    def binder(self, name: str, module: Module) -> Module | None:
        """The file that binds a name which is global in a module: itself, or one of which it imports everything."""
        if name in module.body.scope.names:
            return module
        if "*" not in module.body.scope.names or name.startswith("_"):
            return None
        key = (name, module)
        if key not in self._binders:
            self._binders[key] = None  # files may import everything of each other
            self._binders[key] = self._among_stars(name, module)
        return self._binders[key]

    def _among_stars(self, name: str, module: Module) -> Module | None:
        """Of the files of which everything is imported, the one that binds the name: the last hides the others."""
        for binding in reversed(module.body.scope.names["*"]):
            source = binding.target.partition(":")[0]
            dotted = source.lstrip(".")
            path = self.program.imports.located(dotted, module.file, len(source) - len(dotted))
            if path is None or path == module.path or not self._may_bind(path, name):
                continue
            inside = self.program.module(path)
            found = self.binder(name, inside) if inside is not None else None
            if found is not None:
                return found
        return None

    def _may_bind(self, path: str, name: str) -> bool:
        """Whether a file, or one of which it imports everything, may bind a name at its top level: parses nothing."""
        key = (path, name)
        if key not in self._may:
            self._may[key] = any(file.may_bind(name) for file in self._reached(path))
        return self._may[key]

    def _reached(self, path: str) -> list[SourceFile]:
        if path not in self._reach:
            seen, stack, found = {path}, [path], []
            while stack:
                file = self.program.sources.get(stack.pop())
                if file is None:
                    continue
                found.append(file)
                for source in file.stars:
                    dotted = source.lstrip(".")
                    inside = self.program.imports.located(dotted, file, len(source) - len(dotted))
                    if inside is not None and inside not in seen:
                        seen.add(inside)
                        stack.append(inside)
            self._reach[path] = found
        return self._reach[path]
