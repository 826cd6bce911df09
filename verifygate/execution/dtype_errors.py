"""Say what an error about dtypes was about: which operand is half and why, which is float32 and why, and the mend."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from verifygate.execution.recorded_trace import Trace, read_trace
from verifygate.execution.scrub import Scrubber
from verifygate.model.dtype_error import DtypeError, DtypeOperand

Told = dict[str, Any]
HALF = frozenset({"float16", "bfloat16"})


def dtype_error(told: Sequence[Told], trace: Trace, inside: Callable[[str], str | None]) -> DtypeError | None:
    """The explanation of the error that ended the run; None where it was not about dtypes, or too little was found.

    `inside` gives a path relative to the root, None for one outside.
    """
    found = next((one for one in told if one["event"] == "dtype-error"), None)
    if found is None:
        return None
    path, line = found["at"]
    words = _Words(trace, inside)
    return DtypeError(
        path=inside(path) or "",
        line=int(line),
        call=str(found["call"]),
        region=words.region(found),
        operands=tuple(words.operand(row) for row in _without_alike(found["operands"])),
        remedy=_remedy(found),
    )


def of_tests(events: Iterable[Told], written: Path, scrubber: Scrubber) -> dict[str, DtypeError]:
    """The explanation of each test that such an error ended, by the id that a report has for the test.

    `events` are what the instruments told, `written` is the folder that they wrote in.
    """
    found: dict[str, DtypeError] = {}
    trace: Trace | None = None
    test = ""
    for told in events:
        if told["event"] == "testing":
            test = scrubber.identity(str(told.get("id")))
        elif told["event"] == "dtype-error":
            trace = trace or read_trace(written / "trace")
            with suppress(KeyError, TypeError, ValueError):  # the project can write there as well
                if explained := dtype_error([told], trace, scrubber.inside):
                    found[test] = _scrubbed(explained, scrubber)
    return found


def _scrubbed(error: DtypeError, scrubber: Scrubber) -> DtypeError:
    """The explanation without what only this machine has: it quotes source."""
    operands = tuple(
        each.model_copy(update={"text": scrubber.text(each.text), "origin": scrubber.text(each.origin)})
        for each in error.operands
    )
    words = {name: scrubber.text(getattr(error, name)) for name in ("call", "region", "remedy")}
    return error.model_copy(update={**words, "operands": operands})


def lines(error: DtypeError) -> Iterator[str]:
    """The explanation as text for a terminal."""
    yield f"dtypes: {error.path}:{error.line}  {error.call}"
    for each in error.operands:
        place = f" ({each.path}:{each.line})" if each.path else ""
        yield f"  {each.text} is {each.dtype}: {each.origin}{place}"
    yield f"  {error.region}"
    yield f"  remedy: {error.remedy}"


class _Words:
    def __init__(self, trace: Trace, inside: Callable[[str], str | None]) -> None:
        self._trace, self._inside = trace, inside

    def region(self, found: Told) -> str:
        if region := found["region"]:
            path, line = self._place(region["at"])
            if not region["device"]:
                return "autocast was switched off here" + (f", at {path}:{line}" if path else "")
            where = f", entered at {path}:{line}" if path else ""
            return f"autocast {region['device']} {region['dtype']} was in force{where}"
        before = "; the run entered one before" if found["regions"] else ""
        return f"no autocast region was open here{before}"

    def operand(self, row: Told) -> DtypeOperand:
        path, line = row.get("at") or (None, 0)
        shown = self._inside(path) if path else None
        if cast := row.get("cast"):
            shown, line = self._place(cast)
        return DtypeOperand(
            text=row["text"], dtype=row["dtype"], origin=_origin(row), path=shown or "", line=int(line) if shown else 0
        )

    def _place(self, number: int) -> tuple[str, int]:
        """The innermost line of the project of a recorded place."""
        frames = self._trace.places.get(number, ())
        return next(((shown, frame.line) for frame in frames if (shown := self._inside(frame.path))), ("", 0))


def _without_alike(rows: Sequence[Told]) -> Iterator[Told]:
    """The rows without further weights of a module that has one among them, where they have its dtype."""
    seen: set[tuple[str, ...]] = set()
    for row in rows:
        owner = str(row["name"]).rpartition(".")[0] if row.get("kind") == "parameter" else row["text"]
        if (key := (row.get("kind", ""), owner, row["dtype"])) not in seen:
            seen.add(key)
            yield row


def _origin(row: Told) -> str:
    """Why an operand has its dtype."""
    kind, source = row.get("kind"), row.get("source", "")
    match kind:
        case "parameter" | "buffer":
            cast = ", cast with its module" if row.get("cast") else ""
            name = "" if row["text"] == row["name"] else f" `{row['name']}`"
            return f"{kind}{name} of a {row['owner']}{cast}"
        case "factory":
            return f"`{row['name']}` without a dtype makes the default, in `{source}`"
        case "gradient":
            return "the gradient that a backward is given"
        case "data":
            return "it comes from the data"
        case "kept":
            return "an input of the operation whose gradient failed"
    made = f"`{source}`" if source else f"`{row['name']}`" if kind == "attribute" else "an operation that was not found"
    if kind == "module":
        weights = ", ".join(row["weights"])
        by_autocast = weights == "float32" and row["dtype"] in HALF
        made += f", a {row['owner']}" + (f" with {weights} weights" if weights else "")
        return f"{made}, computed in {row['dtype']} by autocast" if by_autocast else made
    return made + _promotion(row)


def _promotion(row: Told) -> str:
    """The operation that made another dtype of its inputs."""
    if not row.get("operator"):
        return ""
    partner, inputs = row.get("partner"), " and ".join(row["inputs"])
    if row["operator"] == "tocopy":
        return f"; cast there from {inputs}"
    if partner:
        return f"; `{row['operator']}` of {inputs} with `{partner}`, which is {row['dtype']}"
    return f"; `{row['operator']}` makes {row['dtype']} of {inputs}"


def _remedy(found: Told) -> str:
    """The cast, at the operand that should have another dtype."""
    rows = found["operands"]
    half = [row for row in rows if row["dtype"] in HALF]
    full = [row for row in rows if row["dtype"] not in HALF]
    if not full:
        first = half[0]
        return (
            f"this operation does not take {first['dtype']} on this device: give it `{first['text']}.float()`, "
            "and cast its result back where half precision goes on"
        )
    if past := found["past"]:
        return (
            f"`{past['owner']}.{past['method']}` goes past the wrapper around `forward`, which alone opens the region: "
            "call the model itself, or open the region around this call"
        )
    if any(row.get("kind") == "gradient" for row in rows):
        return (
            "decorate the forward with `torch.amp.custom_fwd(device_type=...)` and the backward with "
            "`torch.amp.custom_bwd(device_type=...)`, so that both compute under the same autocast"
        )
    if found["in_backward"]:
        return "cast the target to the dtype of the prediction, or the prediction with `.float()`, before the loss"
    if written := next((row for row in rows if row["written"]), None):
        return _of_written(written, half if written in full else full)
    weights = [row for row in rows if row.get("kind") in ("parameter", "buffer")]
    if weights and all(row in half for row in weights):
        return _cast_the_input(full, weights[0])
    if weights and all(row in full for row in weights):
        return _half_met_float32_weights(found, half[0], weights[0])
    return _one_operand(full[0], half[0])


def _of_written(written: Told, others: list[Told]) -> str:
    source = others[0] if others else written
    if written.get("kind") == "factory":
        return f"make `{written['text']}` with the dtype of what is written to it: `dtype={source['text']}.dtype`"
    return f"cast what is written: `{source['text']}.to({written['text']}.dtype)`"


def _cast_the_input(full: list[Told], weight: Told) -> str:
    """All weights are half."""
    first = next((row for row in full if row.get("kind") not in ("parameter", "buffer")), full[0])
    if partner := first.get("partner"):
        return f"cast `{partner}` where it is used, so that nothing is promoted: `{partner}.to({weight['dtype']})`"
    where = "where it is made, or here" if first.get("kind") in ("value", "module", "factory") else "before the call"
    return (
        f"cast the input to the dtype of the weights, {where}: `.to({weight['dtype']})`; "
        "or keep float32 weights and open an autocast region around the forward"
    )


def _half_met_float32_weights(found: Told, half: Told, weight: Told) -> str:
    """A result of half precision reaches float32 weights."""
    if found["region"] is not None and not found["region"]["device"]:
        return f"inside a region that is off, cast the input yourself: `.float()` on `{half['text']}`"
    if found["region"] is None and found["regions"]:
        return f"move this line into the autocast region, or leave it in float32: `.float()` on `{half['text']}`"
    return f"cast `{half['text']}` with `.float()`, or the module of `{weight['name']}` to {half['dtype']}"


def _one_operand(full: Told, half: Told) -> str:
    """Two results of different dtypes; what was promoted is the one that left half precision."""
    if partner := full.get("partner"):
        return (
            f"cast `{partner}` before it is used, `{partner}.to(...)` with the dtype of the other factor, "
            f"or the result: `{full['text']}.to({half['text']}.dtype)`"
        )
    if full.get("kind") == "factory":
        return f"give it the dtype where it is made: `dtype={half['text']}.dtype`"
    return f"cast one: `{full['text']}.to({half['text']}.dtype)`, or `{half['text']}.float()` to compute in float32"
