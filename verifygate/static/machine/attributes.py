"""Attributes: what `value.name` is, and what `value.name = other` changes."""

from __future__ import annotations

from collections.abc import Hashable

from verifygate.static.machine.call import TENSOR, Handler
from verifygate.static.machine.core import Core
from verifygate.static.machine.values import (
    SCALED,
    Address,
    Atom,
    Bound,
    ClassValue,
    Constant,
    Container,
    Descriptor,
    FunctionValue,
    LibraryMethod,
    LibraryName,
    ModuleValue,
    Object,
    OneOf,
    Option,
    Partial,
    Super,
    Tensor,
    Tuple,
    Unknown,
    Value,
    Wrapped,
    constant,
)
from verifygate.static.uses.roles import Use

_KINDS = {Tuple: "builtins.tuple"}
_CALLED = (FunctionValue, Wrapped)


class Attributes(Core):
    """How attributes are found."""

    def attribute(self, value: Value, name: str, site: Hashable) -> Value:
        """What an attribute of a value is."""
        if value.__class__ is Object:
            return self.attribute_of_object(value, name, site)
        if isinstance(value, OneOf):
            return self.each_way(value, lambda atom: self.attribute(atom, name, site))
        match value:
            case LibraryName():
                return self.library_constant(f"{value.name}.{name}")
            case ModuleValue():
                return self.module_attribute(value, name)
            case Tensor():
                return self.library_attribute(TENSOR, name, value, site) or self.unknown(
                    f"tensors have no model of `{name}`"
                )
            case ClassValue():
                return self._attribute_of_class(value, name)
            case Super():
                return self._after(value, name, site)
            case Option():
                if name == "param_groups":
                    self.used(value, Use.HAS_GROUPS)
                found = self.field(_of_option(value), name)
                return found if found is not None else value.part(f"{value.identity}.{name}")
            case Unknown(cls=ClassValue()) | Unknown(cls=LibraryName()):
                return self._of_unknown(value, name, site)
            case Unknown():
                if name == "backward" and value.role.startswith(SCALED):
                    self.used(Option(value.role.removeprefix(SCALED)), Use.SCALES_A_BACKWARD)
                return value
            case Container():
                return LibraryMethod(f"builtins.{value.kind}", name, value)
            case Constant():
                owner = f"builtins.{value.kind.__name__}"
                return self.library_attribute(owner, name, value, site) or LibraryMethod(owner, name, value)
            case Tuple(items=items, names=names) if name in names:
                return items.get(names.index(name)) or self.unknown(f"`{name}` of a named tuple")
            case Tuple():
                return LibraryMethod("builtins.tuple", name, value)
            case Descriptor(kind="property"):
                return LibraryMethod("builtins.property", name, value)
            case FunctionValue() if name in ("__name__", "__qualname__"):
                return constant(value.code.name)
            case Partial() if name == "func":
                return value.function
        return self.unknown(f"`{name}` of a {type(value).__name__.lower()}")

    def attribute_of_object(self, value: Object, name: str, site: Hashable) -> Value:
        found = self.field(value.address, name)
        if found is not None:
            return found
        inherited = self.inherited(value.cls, name, value, site)
        if inherited is not None:
            return inherited
        if name == "__dict__":
            return self.unknown("the fields of an object as a dict")
        if name == "__class__":
            return value.cls
        own = self.inherited(value.cls, "__getattr__", value, site) if isinstance(value.cls, ClassValue) else None
        if own is not None and name != "__getattr__":
            return self.call(own, (constant(name),), {}, site)
        rest = self.field(value.address, "#rest")
        if isinstance(rest, Option):  # each name is an option of its own
            return rest.part(f"{rest.identity.removesuffix('?')}{name}")
        if rest is not None:
            return rest
        return self.unknown(f"no attribute `{name}` is seen to be set")

    def _of_unknown(self, value: Unknown, name: str, site: Hashable) -> Value:
        assert value.cls is not None  # noqa: S101 - it has just been matched
        return self.inherited(value.cls, name, value, site) or Unknown(value.reason, value.place)

    def inherited(self, cls: ClassValue | LibraryName, name: str, receiver: Value, site: Hashable) -> Value | None:
        """What the class of an object, or one that it derives from, has under a name."""
        order = cls.mro if isinstance(cls, ClassValue) else (cls,)
        return self._in_order(order, name, receiver, site)

    def _in_order(
        self, order: tuple[ClassValue | LibraryName | Unknown, ...], name: str, receiver: Value, site: Hashable
    ) -> Value | None:
        for each in order:
            if isinstance(each, ClassValue):
                found = self.field(each.address, name)
                if found is not None:
                    return self._bound(found, receiver, each, site)
            elif isinstance(each, LibraryName):
                inherited = self.library_attribute(each.name, name, receiver, site)
                if inherited is not None:
                    return inherited
            else:
                return Unknown(each.reason, each.place)
        return None

    def _bound(self, found: Value, receiver: Value, cls: ClassValue, site: Hashable) -> Value:
        """What a value in a class is as an attribute of an object of it."""
        if isinstance(found, _CALLED):
            return Bound(found, receiver)
        if isinstance(found, OneOf):
            return self.each_way(found, lambda atom: self._bound(atom, receiver, cls, site))
        if isinstance(found, Descriptor):
            match found.kind:
                case "staticmethod":
                    return found.function
                case "classmethod":
                    return Bound(found.function, receiver.cls if isinstance(receiver, Object) else cls)
                case "property":
                    return self.call(found.function, (receiver,), {}, site)
                case _:
                    return Bound(found, receiver)
        return found

    def _attribute_of_class(self, cls: ClassValue, name: str) -> Value:
        if name in ("__name__", "__qualname__"):
            return constant(cls.name)
        for each in cls.mro:
            if isinstance(each, ClassValue):
                found = self.field(each.address, name)
                if isinstance(found, Descriptor) and found.kind == "classmethod":
                    return Bound(found.function, cls)
                if isinstance(found, Descriptor) and found.kind == "staticmethod":
                    return found.function
                if found is not None:
                    return found
            elif isinstance(each, LibraryName):
                read = self.library_handler("attribute", each.name, name)
                if read is not None:
                    return self.handled(read, name, ("class", name), receiver=cls)
                if self.library_handler("method", each.name, name) is not None:
                    return LibraryName(f"{each.name}.{name}")
            else:
                return Unknown(each.reason, each.place)
        return self.unknown(f"no attribute `{name}` is seen to be set")

    def _after(self, value: Super, name: str, site: Hashable) -> Value:
        receiver = value.receiver
        cls = receiver.cls if isinstance(receiver, Object | Unknown) else receiver
        order = cls.mro if isinstance(cls, ClassValue) else value.after.mro
        rest = order[order.index(value.after) + 1 :] if value.after in order else value.after.order
        found = self._in_order(rest, name, receiver, site)
        if found is not None:
            return found
        if name in ("__init__", "__init_subclass__", "__setattr__", "__enter__", "__exit__"):
            return LibraryMethod("builtins.object", name, receiver)
        return self.unknown(f"no class above has `{name}`")

    # -- what a library has --------------------------------------------------------------------------------------

    def library_handler(self, what: str, owner: str, name: str) -> Handler | None:
        """A handler for a method or an attribute of a library class, or of one that it derives from."""
        asked = (what, owner, name)
        if asked not in self.library_handlers:
            found = (getattr(each, what)(cls, name) for cls in self.library_order(owner) for each in self.libraries)
            self.library_handlers[asked] = next((each for each in found if each is not None), None)
        return self.library_handlers[asked]

    def library_function(self, name: str) -> Handler | None:
        """A handler for a function or class of a library."""
        asked = ("function", name, "")
        if asked not in self.library_handlers:
            found = (each.function(name) for each in self.libraries)
            self.library_handlers[asked] = next((each for each in found if each is not None), None)
        return self.library_handlers[asked]

    def library_attribute(self, owner: str, name: str, receiver: Value, site: Hashable) -> Value | None:
        """What a library says of an attribute: its value, or a method that waits to be called."""
        read = self.library_handler("attribute", owner, name)
        if read is not None:
            return self.handled(read, name, site, receiver=receiver)
        if self.library_handler("method", owner, name) is not None:
            return LibraryMethod(owner, name, receiver)
        return None

    def library_constant(self, name: str) -> Value:
        """What a dotted name of a library is."""
        for library in self.libraries:
            found = library.constant(name)
            if found is not None:
                return found
        patched = self.field(_PATCHED, name)
        if patched is not None:
            return patched
        return self._of_model(name) or LibraryName(name)

    def _of_model(self, name: str) -> Value | None:
        """What a library's model binds a dotted name to; None where there is none, or it says nothing of that."""
        for library in self.libraries:
            module = library.model(name)
            if module is not None:
                self.load_model(module)
                return self.field(module_address(module.path), name.rpartition(".")[2])
        return None

    def module_attribute(self, module: ModuleValue, name: str) -> Value:
        raise NotImplementedError

    # -- setting -------------------------------------------------------------------------------------------------

    def set_attribute(self, of: Value, name: str, value: Value, site: Hashable) -> None:
        """`of.name = value`: for good where it is one object, else as what may be."""
        if isinstance(of, OneOf):
            self.each_way(of, lambda atom: self._set_one(atom, name, value, site))
        else:
            self._set_one(of, name, value, site)

    def _set_one(self, of: Atom, name: str, value: Value, site: Hashable) -> Value:
        address = self._home(of)
        if isinstance(of, Tensor):
            handler = self.library_handler("assignment", TENSOR, name)
            if handler is not None:
                self.handled(handler, name, site, (value,), receiver=of)
        elif isinstance(of, LibraryName):
            self.state.store.write(_PATCHED, f"{of.name}.{name}", value)
        elif address is not None:
            if isinstance(of, Object) and (
                self._assigned_by_property(of, name, value, site) or self._assigned_by_library(of, name, value, site)
            ):
                return value
            self.state.store.write(address, name, value)
        return value

    def _assigned_by_property(self, of: Object, name: str, value: Value, site: Hashable) -> bool:
        for each in of.cls.mro if isinstance(of.cls, ClassValue) else ():
            found = self.field(each.address, name) if isinstance(each, ClassValue) else None
            if isinstance(found, Descriptor) and found.setter is not None:
                self.call(found.setter, (of, value), {}, site)
                return True
        return False

    def _assigned_by_library(self, of: Object, name: str, value: Value, site: Hashable) -> bool:
        owners = (of.cls.name,) if isinstance(of.cls, LibraryName) else of.cls.library_bases
        for owner in owners:
            handler = self.library_handler("assignment", owner, name)
            if handler is not None:
                self.handled(handler, name, site, (value,), receiver=of)
                return True
        return False

    def _home(self, of: Atom) -> Address | None:
        """Where the attributes of a value lie."""
        match of:
            case Object() | ClassValue():
                return of.address
            case ModuleValue():
                return module_address(of.path)
            case Option():
                return _of_option(of)
        return None


_PATCHED = Address("patched", None)
"""Where the attributes lie that the program sets on a library's modules and classes."""


def _of_option(option: Option) -> Address:
    """Where what the program sets on an input lies."""
    return Address(("option", option.identity), None)


def module_address(path: str) -> Address:
    """Where the variables of a module lie."""
    return Address(("module", path), None)
