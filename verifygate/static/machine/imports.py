"""Imports: modules of the project run once, in the order in which they are imported; others are names of libraries."""

from __future__ import annotations

import ast

from verifygate.static.machine.attributes import Attributes, module_address
from verifygate.static.machine.core import EndedError, Running
from verifygate.static.machine.memo import Given, Memo
from verifygate.static.machine.values import ABSENT, NONE, LibraryName, ModuleValue, Unknown, Value, constant
from verifygate.static.symbols.program import Module


class Imports(Memo, Attributes):
    """How modules are loaded."""

    def _import(self, node: ast.Import) -> bool:
        for alias in node.names:
            head = alias.name.partition(".")[0]
            modelled = self._modelled(alias.name)
            if modelled:
                self._bind(alias.asname or head, LibraryName(modelled if alias.asname else head))
                continue
            whole = self._imported(alias.name)
            if alias.asname:
                self._bind(alias.asname, whole or LibraryName(alias.name))
            else:
                self._bind(
                    head, self._imported(head) or (self._folder(alias.name) if whole else None) or LibraryName(head)
                )
        return True

    def _import_from(self, node: ast.ImportFrom) -> bool:
        name = node.module or ""
        modelled = self._modelled(name, node.level)
        module = self._imported(name, node.level) if not modelled else None
        for alias in node.names:
            if alias.name == "*":
                self._star(module, name)
                continue
            found: Value | None = self.library_constant(f"{modelled}.{alias.name}") if modelled else None
            if module is not None:
                found = self.field(module_address(module.path), alias.name)
            if found is None:
                below = f"{name}.{alias.name}" if name else alias.name
                of_model = self._modelled(below, node.level)
                found = LibraryName(of_model) if of_model else self._imported(below, node.level)
            if found is None and module is not None:
                found = self.module_attribute(module, alias.name)
            if found is None and node.level:
                found = self.unknown(f"`{'.' * node.level}{name}` is not among the files")
            self._bind(alias.asname or alias.name, found or self.library_constant(f"{name}.{alias.name}"))
        return True

    def _star(self, module: ModuleValue | None, name: str) -> None:
        if module is None:
            for each in self.library_exports(name):
                self._bind(each, self.library_constant(f"{name}.{each}"))
            return
        for each, value in list(self.state.store.fields(module_address(module.path)).items()):
            if not each.startswith(("_", "#")):
                self._bind(each, value)

    def library_exports(self, name: str) -> tuple[str, ...]:
        """The names that `from name import *` binds, where that is known."""
        from verifygate import torch_names

        return tuple(torch_names.EXPORTS.get(name, ()))

    def _bind(self, name: str, value: Value) -> None:
        home = self.frame.declared.get(name, self.frame.address)
        self.state.store.write(home, name, value)

    def _modelled(self, name: str, level: int = 0) -> str:
        """The name under which a model stands for a module of the tree; empty where the tree's source runs."""
        if not self.replaced or self.frame.module.is_model:
            return ""
        resolved = self.program.imports.resolved(name, self.frame.module.file, level)
        if resolved is None or not resolved.module:
            return ""
        dotted = f".{resolved.module.removesuffix('.py').removesuffix('/__init__').replace('/', '.')}."
        found = (dotted.find(f".{each}.") for each in self.replaced)
        return next((dotted[at:].strip(".") for at in found if at >= 0), "")

    def _imported(self, name: str, level: int = 0) -> ModuleValue | None:
        """A module of the project, loaded; None where the name leads out of it."""
        if self.frame.module.is_model:
            return None
        resolved = self.program.imports.resolved(name, self.frame.module.file, level)
        if resolved is None:
            return None
        for path in (*resolved.packages, *((resolved.module,) if resolved.module else ())):
            self.load_module(path)
        return ModuleValue(resolved.module) if resolved.module else None

    def _folder(self, name: str) -> ModuleValue | None:
        """The package around a module of the project that has no file of its own."""
        resolved = self.program.imports.resolved(name, self.frame.module.file)
        head = name.partition(".")[0]
        return ModuleValue(f"{resolved.folder}{head}/__init__.py") if resolved is not None else None

    def load_module(self, path: str) -> None:
        """Run the body of a module, if that has not begun yet."""
        self.asked_for(path)
        if path not in self.modules_loaded:
            self.remembered(Given((path, path == self.main), None, {}, self.root), lambda: self._load(path))

    def load_model(self, module: Module) -> None:
        """Run the body of a library's model, if that has not begun yet; a branch does not have what another one ran."""
        self.asked_for(module.path)
        is_there = self.state.store.read(module_address(module.path), "__name__") is not ABSENT
        if module.path not in self.modules_loaded or not is_there:
            self.remembered(Given((module.path, False), None, {}, self.root), lambda: self._run_body(module))

    def _load(self, path: str) -> Value:
        module = self.program.module(path)
        if module is not None:
            return self._run_body(module)
        self.modules_loaded[path] = None
        self.state.store.make(module_address(path), {"#rest": Unknown(f"{path} cannot be parsed")})
        return NONE

    def _run_body(self, module: Module) -> Value:
        path, address = module.path, module_address(module.path)
        self.modules_loaded[path] = None
        self.state.store.make(address, {"__name__": constant(self.module_name(path)), "__file__": constant(path)})
        caller: Running | None = vars(self).get("frame")
        context, handlers, rounds = self.context, self.handlers, self.rounds
        self.context, self.handlers, self.rounds = self.root, [], ()
        self.frame = Running(address, module, "", caller=caller, depth=caller.depth + 1 if caller is not None else 0)
        try:
            self.run_block(module.tree.body)
        except EndedError:
            pass
        finally:
            self.context, self.handlers, self.rounds = context, handlers, rounds
            self.frame = caller or self.frame
        return NONE

    def module_name(self, path: str) -> str:
        """What `__name__` is in a module."""
        return "__main__" if path == self.main else path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")

    def module_attribute(self, module: ModuleValue, name: str) -> Value:
        found = self.field(module_address(module.path), name)
        if found is not None:
            return found
        if module.path.endswith("/__init__.py"):
            folder = module.path.removesuffix("__init__.py")
            for path in (f"{folder}{name}.py", f"{folder}{name}/__init__.py"):
                if self.program.sources.get(path) is not None:
                    self.load_module(path)
                    return ModuleValue(path)
        rest = self.field(module_address(module.path), "#rest")
        return rest or self.unknown(f"`{name}` is not seen to be bound in {module.path}")
