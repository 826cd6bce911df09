"""The roles of AMP, and which of them the uses of a variable prove."""

from __future__ import annotations

from enum import Flag, IntEnum, StrEnum, auto


class Use(Flag):
    """What a program does with a variable."""

    NONE = 0
    SCALES = auto()
    """`x.scale(loss)`."""
    SCALES_A_BACKWARD = auto()
    """`x.scale(loss).backward()`, also with a name for the scaled loss."""
    UNSCALES = auto()
    """`x.unscale_(optimizer)`."""
    STEPS_ANOTHER = auto()
    """`x.step(optimizer)`."""
    STEPS_A_ZEROED = auto()
    """The same, and `optimizer.zero_grad()` is called as well."""
    STEPS = auto()
    """`x.step()`, or with a closure."""
    UPDATES = auto()
    """`x.update()`."""
    ZEROES = auto()
    """`x.zero_grad()`."""
    HAS_GROUPS = auto()
    """`x.param_groups`."""
    IS_UNSCALED = auto()
    """It is handed to `unscale_`."""
    RUNS = auto()
    """`x(...)`."""
    GOES_BACK = auto()
    """`x.backward()`."""
    HAS_PARAMETERS = auto()
    """`x.parameters()`, or those with their names."""


class Role(StrEnum):
    SCALER = "scaler"
    OPTIMIZER = "optimizer"
    MODULE = "module"


class Evidence(IntEnum):
    """What says that an object has a role, from the weakest on. Certain is only what rests on the last two."""

    NAME = 1
    ANNOTATION = 2
    USE = 3
    OBJECT = 4


_OF_METHODS = {
    "unscale_": Use.UNSCALES,
    "zero_grad": Use.ZEROES,
    "backward": Use.GOES_BACK,
    "parameters": Use.HAS_PARAMETERS,
    "named_parameters": Use.HAS_PARAMETERS,
}


def use_of(method: str, positional: int, given: int, *, steps_another: bool) -> Use:
    """What calling a method of an object says of the object. `given` counts all arguments, `positional` some of them.

    use_of("step", 1, 1, steps_another=True)  # STEPS_ANOTHER
    """
    if method == "step":
        return Use.STEPS_ANOTHER if steps_another else Use.STEPS
    if method == "scale":
        return Use.SCALES if given else Use.NONE
    if method == "update":
        return Use.UPDATES if not positional or given == 1 else Use.NONE
    return _OF_METHODS.get(method, Use.NONE)


def roles_of(uses: Use) -> frozenset[Role]:
    """The roles that uses prove: no other object of a training program is used like that.

    roles_of(Use.SCALES_A_BACKWARD | Use.UPDATES)  # a scaler
    roles_of(Use.STEPS)                            # nothing: a learning-rate schedule steps as well
    """
    found = set()
    if not uses & (Use.RUNS | Use.GOES_BACK):
        scales = Use.SCALES in uses and bool(uses & (Use.STEPS_ANOTHER | Use.UPDATES))
        if uses & (Use.UNSCALES | Use.SCALES_A_BACKWARD) or scales or Use.STEPS_A_ZEROED | Use.UPDATES in uses:
            found.add(Role.SCALER)
        if uses & Use.IS_UNSCALED or (uses & Use.STEPS and uses & (Use.ZEROES | Use.HAS_GROUPS)):
            found.add(Role.OPTIMIZER)
    if Use.HAS_PARAMETERS in uses:
        found.add(Role.MODULE)
    return frozenset(found)
