"""Rows of the precision contract that a specification asks for, held against what is declared and what a run showed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from verifygate.model import Check, EvidenceClass, OwnEvents, Status
from verifygate.model.precision_contract import (
    DERIVED,
    AskedPrecision,
    Aspect,
    ContractRow,
    Declaration,
    PrecisionContract,
)
from verifygate.requirements.facts import SHOWN, Cite, Facts, Missing, listed
from verifygate.requirements.precision_asked import DRIVERS, DTYPES, DYNAMIC, NONE, SCALER_STATE, STATIC
from verifygate.requirements.run_answers import CALLED, TRAIN, Run, recorded_runs
from verifygate.requirements.spec import Specification
from verifygate.requirements.trace_matrix import numbered

STANDINGS = {
    Status.PASS: "agreed",
    Status.PARTIAL: "agreed in part",
    Status.FAIL: "contradicted",
    Status.NOT_MEASURED: "not shown",
}
_DEEPSPEEDS = "DeepSpeed's own"
_FROZEN = "frozen"
_CARD = " where the card has it, else "
"""Of a configuration that leaves the dtype to the machine."""


@dataclass(frozen=True)
class _Told:
    """One value of a row, in the words of a specification, and what says it."""

    value: str
    words: str
    cite: Cite
    is_whole: bool = True
    """Whether it holds in every run."""


@dataclass(frozen=True)
class _Row:
    """A row that is asked for, and all that is known of it."""

    aspect: Aspect
    asked: tuple[str, ...]
    line: int
    path: str
    told: tuple[_Told, ...]
    gaps: tuple[Cite, ...]

    @property
    def status(self) -> Status:
        agreed = [each for each in self.told if each.value in self.asked]
        if len(agreed) < len(self.told):
            return Status.FAIL
        if any(each.cite.kind is not EvidenceClass.STATIC for each in agreed):
            return Status.PASS  # a run showed it
        if not agreed:
            return Status.NOT_MEASURED
        return Status.PASS if not self.gaps and any(each.is_whole for each in agreed) else Status.PARTIAL


def asked_rows(specification: Specification, facts: Facts) -> list[tuple[AskedPrecision, Check]]:
    """Each row of the section `precision`, and the check on it, in the order of the specification."""
    asked = specification.spec.precision
    if not asked:
        return []
    static = facts.static
    contract = PrecisionContract() if isinstance(static, Missing) else static.contract
    missing = static.reason if isinstance(static, Missing) else ""
    execution = facts.execution
    runs = [] if isinstance(execution, Missing) else list(recorded_runs(execution))
    rows = []
    for aspect, words in asked.items():
        declared = tuple(_declared(aspect, contract))
        seen = tuple(_seen(aspect, words, runs))
        row = contract.row(aspect)
        gaps = tuple(_gaps(row, missing, has_values=bool(declared)))
        rows.append(
            _Row(aspect, words, specification.precision_lines[aspect], specification.path, (*declared, *seen), gaps)
        )
    return [(_as_asked(row), _check(row)) for row in rows]


# --- what is declared


def _declared(aspect: Aspect, contract: PrecisionContract) -> Iterator[_Told]:
    row = contract.row(aspect)
    declared = row.declared if row is not None else ()
    if aspect is Aspect.LOSS_SCALE:
        declared = tuple(each for each in declared if each.value != NONE)  # that follows from the compute row
    has_static = any(_scale(each) == STATIC for each in declared) if aspect is Aspect.LOSS_SCALE else False
    for each in declared:
        if has_static and each.value.startswith(_DEEPSPEEDS):
            continue  # the value that it names is declared too
        if each.said_by == DERIVED:
            continue  # no line says it: it neither agrees nor contradicts
        if (value := _in_words(aspect, each)) is not None:
            yield _Told(
                value, f"declared {each.value}", _cite(each), is_whole=not each.condition and _CARD not in each.value
            )
    if aspect is Aspect.LOSS_SCALE and not declared:
        yield from _without_scale(contract)


def _without_scale(contract: PrecisionContract) -> Iterator[_Told]:
    """That nothing scales the loss: where each precision is known, and nobody who drives it makes a scaler."""
    compute, scale = contract.row(Aspect.COMPUTE), contract.row(Aspect.LOSS_SCALE)
    if compute is None or scale is None or scale.not_followed or compute.not_followed or not compute.declared:
        return
    first = compute.declared[0]
    words = f"no scaler beside {first.value}"
    yield _Told(NONE, words, Cite(EvidenceClass.STATIC, words, first.path, first.line))


def _in_words(aspect: Aspect, each: Declaration) -> str | None:
    """A declared value in a specification's words; None for what says nothing of the row's."""
    value = each.value
    if aspect is Aspect.DRIVER:
        return next((name for name, begin in DRIVERS.items() if value.startswith(begin)), value)
    if aspect is Aspect.LOSS_SCALE:
        return _scale(each)
    if aspect is Aspect.CHECKPOINT:
        return SCALER_STATE if "scaler's state" in value and "no scaler's state" not in value else None
    if _FROZEN in value or value.startswith(("as the weights", "TF32")):  # TF32 is about float32, if there is any
        return None
    if value.startswith("autocast's default"):
        return "float16"  # on CUDA
    return next((dtype for dtype in DTYPES if value.startswith(dtype)), value)


def _scale(each: Declaration) -> str | None:
    key, _, given = each.value.partition(": ")
    if key.endswith("loss_scale"):
        return DYNAMIC if given in ("0", "0.0", "dynamic") else STATIC
    return None if key.endswith("initial_scale_power") else DYNAMIC


def _cite(each: Declaration) -> Cite:
    condition = f", {each.condition}" if each.condition else ""
    return Cite(EvidenceClass.STATIC, f"declared {each.value}{condition}", each.path, each.line)


def _gaps(row: ContractRow | None, missing: str, *, has_values: bool) -> Iterator[Cite]:
    """What could not be followed; of a driver that is what no rule judges, and no gap of who it is."""
    if missing:
        yield Cite(EvidenceClass.STATIC, missing)
    if row is None or (row.aspect is Aspect.DRIVER and has_values):
        return
    for each in row.not_followed:
        yield Cite(EvidenceClass.STATIC, f"not followed: {each.reason}", each.path, each.line)


# --- what a run showed


def _seen(aspect: Aspect, asked: tuple[str, ...], runs: Iterable[Run]) -> Iterator[_Told]:
    for kind, trace in runs:
        own = trace.own or OwnEvents()
        for value in sorted(_values_seen(aspect, asked, own, emulated=kind is EvidenceClass.EMULATED)):
            step = own.orders[0] if own.orders else None
            words = f"{value} seen in {CALLED[kind]}"
            yield _Told(value, words, Cite(kind, words, step.path if step else None, step.line if step else None))


def _values_seen(aspect: Aspect, asked: tuple[str, ...], own: OwnEvents, *, emulated: bool) -> set[str]:
    """What a run of audited code shows of a row.

    On a CPU, code often trains without AMP, or in bfloat16 in place of float16: that is no other precision than the one
    asked for, and shows nothing.
    """
    counts = dict(own.counts)
    if aspect is Aspect.LOSS_SCALE:
        is_live = bool(counts.get("scale") or counts.get("scaler.step"))
        return {DYNAMIC} if is_live else {NONE} & set(asked) if own.orders else set()
    if aspect is Aspect.COMPUTE:
        regions = [each.split() for each in own.regions]
        in_place = "float16" in asked
        return {dtype for device, dtype in regions if not (device == "cpu" and dtype == "bfloat16" and in_place)}
    if aspect in (Aspect.WEIGHTS, Aspect.GRADIENTS):  # a gradient has the dtype of its parameter
        found, is_rest_float32 = _stepped(own)
        whole = counts.get("optimizer") and own.orders
        if not found and whole and (emulated or "float32" in asked):
            found = {"float32"}
        return found | ({"float32"} if is_rest_float32 else set())
    return set()


def _stepped(own: OwnEvents) -> tuple[set[str], bool]:
    """The dtypes but float32 of what optimizers step (`SGD: 2 of 4 tensors float16`); whether the rest is float32."""
    found: set[str] = set()
    left: dict[tuple[str, str], int] = {}
    for line in own.not_float32:
        optimizer, _, text = line.rpartition(": ")
        number, _, tensors, _, dtype = text.split()
        found.add(dtype)
        key = optimizer, tensors
        left[key] = left.get(key, int(tensors)) - int(number)
    return found, any(number > 0 for number in left.values())


# --- the answer


def _check(row: _Row) -> Check:
    status = row.status
    wanted = " or ".join(row.asked)
    home = Cite(EvidenceClass.DECLARED, f"`{row.aspect.value}: {wanted}` is asked for here", row.path, row.line)
    wrong = [each for each in row.told if each.value not in row.asked]
    right = [each for each in row.told if each.value in row.asked]
    cited = [each.cite for each in (wrong or right)]
    if status is Status.FAIL:
        actual = f"{row.path}:{row.line} asks for {wanted}: {listed(_with_place(each) for each in wrong)}"
    elif status is Status.PASS:
        actual = listed(_with_place(each) for each in right)
    else:
        gaps = listed(_at(each) for each in row.gaps)
        some = listed(_with_place(each) for each in right)
        actual = "; ".join(each for each in (some, gaps) if each) or "nothing declares it, and no run showed it"
        cited += row.gaps
    remedies = {
        Status.FAIL: "correct the line that differs, or the row of the specification",
        Status.PARTIAL: f"write the value out where it is open, or show it in a run: {TRAIN}",
        Status.NOT_MEASURED: f"declare it in the code or its configuration, or show it in a run: {TRAIN}",
    }
    name = f"precision.{row.aspect.value.replace(' ', '-')}"
    return Check(
        id=f"requirements.{name}",
        title=f"Precision contract, {row.aspect.value}: {wanted}",
        status=status,
        weight=2,
        expected=f"{row.aspect.value} is {wanted}, wherever it is declared or seen",
        actual=actual,
        evidence=numbered(name, (*cited[:SHOWN], home)),
        remedy=remedies.get(status, ""),
    )


def _as_asked(row: _Row) -> AskedPrecision:
    return AskedPrecision(
        aspect=row.aspect, value=" or ".join(row.asked), path=row.path, line=row.line, standing=STANDINGS[row.status]
    )


def _with_place(each: _Told) -> str:
    return _at(each.cite)


def _at(cite: Cite) -> str:
    return f"{cite.summary} at {cite.path}:{cite.line}" if cite.path and cite.line else cite.summary
