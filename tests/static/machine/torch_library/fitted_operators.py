"""Write `operators.json`: for each operator of torch the rule that says every dtype that was measured.

python tests/static/machine/torch_library/fitted_operators.py
"""

from __future__ import annotations

import inspect
import json
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import torch
from sampled_operators import Measured, Seen, functions, has_dtype, measure, parameters

from verifygate.instrument.cuda.policy import NOT_COVERED
from verifygate.static.machine import torch_library
from verifygate.static.machine.torch_library.dtypes import ALL, FLOAT8, FLOATS, Kind
from verifygate.static.machine.torch_library.results import Autocast, Result, result_of, under

FILE = Path(torch_library.__file__).parent / "operators.json"
RULES = (*Result, *sorted(ALL - FLOAT8))
POLICIES = (Autocast.KEEP, Autocast.LOWER, Autocast.FLOAT32, Autocast.PROMOTE)
DEVICES = ("cpu", "cuda")
CASTS = frozenset({"to", "type", "type_as"})
"""Methods of a tensor whose result depends on the values of their arguments."""
Place = int | str


class Fit(NamedTuple):
    """How the dtypes of an operator's results come about."""

    places: tuple[Place, ...]
    """Arguments that take part."""
    numbers: bool
    """Numbers of Python there take part too."""
    results: tuple[str, ...]
    """A rule for each result; one for all results of a list."""
    policies: tuple[Autocast, Autocast]
    several: str = "never"
    """When a tuple comes out: never, always, or where this argument is given."""
    same: bool = False
    """Tensors of different floating-point dtypes are refused."""
    floats: bool = False
    """Nothing is known of integers, and of complex tensors."""


NO_FIT = Fit((), True, (), (Autocast.KEEP, Autocast.KEEP))


def fitted(name: str, measured: Measured) -> Fit | None:
    """The first hypothesis that agrees with everything that was seen, or else with what was seen of floats alone."""
    every = [one for one in measured.seen if one.results and one.asked is None]
    floats = [one for one in every if _are_floats(one)]
    same = _refuses_mixed(measured.seen)
    found = [_fitted(name, every, same), (_fitted(name, floats, same) or NO_FIT)._replace(floats=True)]
    known = [fit for fit in found if fit is not None and fit.results]
    best = min(known, key=lambda fit: (fit.policies.count(Autocast.UNKNOWN), fit.floats), default=None)
    return None if best is None else _with_banned(measured, best)._replace(same=same)


def _refuses_mixed(seen: list[Seen]) -> bool:
    mixed = [one for one in seen if one.mode == "off" and _are_floats(one) and len(_floating(one)) > 1]
    return bool(mixed) and all(one.results is None for one in mixed)


def _floating(one: Seen) -> set[str]:
    return {dtype for place in one.floating for dtype, _ in one.operands[place]}


def _are_floats(one: Seen) -> bool:
    return _floating(one) <= FLOATS


def _fitted(name: str, seen: list[Seen], all_first: bool) -> Fit | None:
    best = None
    for places in _places(seen, all_first) if seen else ():
        for numbers in (True, False):
            for rule in RULES:
                tried = Fit(places, numbers, (rule,), (Autocast.KEEP,) * 2)
                if _agree(seen, "off", tried, 0):
                    found = tried._replace(policies=(_policy(seen, 0, tried), _policy(seen, 1, tried)))
                    if best is None or found.policies.count(Autocast.UNKNOWN) < best.policies.count(Autocast.UNKNOWN):
                        best = found
                    if Autocast.UNKNOWN not in found.policies:
                        return _with_rest(seen, found)._replace(several=_several(name, seen))
    return best and _with_rest(seen, best)._replace(several=_several(name, seen))


def _policy(seen: list[Seen], device: int, fit: Fit) -> Autocast:
    for policy in POLICIES:
        if _agree(seen, DEVICES[device], fit._replace(policies=(policy, policy)), 0):
            return policy
    return Autocast.UNKNOWN


def _agree(seen: list[Seen], mode: str, fit: Fit, index: int) -> bool:
    """Whether everything that was seen in a mode is what the rule says of the result at that index."""
    for one in seen:
        kind, _, lower = one.mode.partition(" ")
        if kind != mode or one.results is None or len(one.results) <= index:
            continue
        operands = [each for place in fit.places for each in one.operands.get(place, ())]
        operands = [each for each in operands if fit.numbers or each[1] is not Kind.NUMBER]
        rule = fit.results[index]
        if rule in list(Result) and not any(kind is not Kind.NUMBER for _, kind in operands):
            return False
        if result_of(rule, under(fit.policies[0], lower or None, operands)) != one.results[index]:
            return False
    return True


def _places(seen: list[Seen], all_first: bool) -> list[tuple[Place, ...]]:
    """Which arguments may be those that take part: all that hold floating-point tensors, all that hold any, some."""
    floating, tensors = [], []
    for one in seen:
        for place, operands in one.operands.items():
            if any(kind is not Kind.NUMBER for _, kind in operands):
                tensors += [place] * (place not in tensors)
                floating += [place] * (place not in floating and place in one.floating)
    found = [tuple(floating)] if all_first else [tuple(tensors[:1]), tuple(floating)]
    found += [tuple(tensors), *((place,) for place in tensors)]
    found += [tuple(tensors[1:]), tuple(tensors[:2])] if len(tensors) > 2 else []
    return found


def _several(name: str, seen: list[Seen]) -> str:
    alone = {one.alone for one in seen}
    if len(alone) == 1:
        return "never" if True in alone else "always"
    given: set[Place] = set().union(*(one.given for one in seen))
    for place in sorted(given, key=str):
        if all((place in one.given) is not one.alone for one in seen):
            return str(place)
    names = {"max": "dim", "min": "dim", "median": "dim", "nanmedian": "dim"}
    return names.get(name.rpartition(".")[2], "unknown")


def _with_rest(seen: list[Seen], fit: Fit) -> Fit:
    """The rules of a tuple's further results; the same number of them in every call, or all alike."""
    most = max(len(one.results or ()) for one in seen)
    rules: list[str] = [*fit.results]
    for index in range(1, most):
        for rule in (fit.results[0], *RULES):
            tried = fit._replace(results=(*rules, rule), policies=(Autocast.KEEP,) * 2)
            per = [tried._replace(policies=(policy,) * 2) for policy in fit.policies]
            if _agree(seen, "off", tried, index) and all(
                policy is Autocast.UNKNOWN or _agree(seen, device, one, index)
                for device, policy, one in zip(DEVICES, fit.policies, per, strict=True)
            ):
                rules.append(rule)
                break
        else:
            rules.append("unknown")
    return fit._replace(results=(rules[0],) if len(set(rules)) == 1 else tuple(rules))


def _with_banned(measured: Measured, fit: Fit) -> Fit:
    if any("unsafe to autocast" in one.error for one in measured.seen):
        return fit._replace(policies=(fit.policies[0], Autocast.BANNED))
    return fit


def _row(name: str, function: Callable[..., Any], measured: Measured, fit: Fit) -> str:
    """`rules | operands | policies | flags`, what operators that behave alike share."""
    given = parameters(name, function)
    many = _takes_any_number(function) and len(given) + 1 in fit.places
    places = f"{len(given)}:*" if many else " ".join(_place(place, given) for place in _in_order(fit.places, given))
    cpu, cuda = fit.policies
    if name.removeprefix("torch.").replace(".", "_") in NOT_COVERED["fft"].split() or "stft" in name:
        cuda = Autocast.KEEP  # the CPU's policy stays in force there, and CUDA has no kernel of its own
    flags = [
        "" if fit.numbers else "no_numbers",
        "same" if fit.same and len(fit.places) > 1 else "",
        "floats" if fit.floats else "",
        "view" if measured.view else "",
        "graph" if measured.graph else "",
        "" if fit.several == "never" else f"several={_named(fit.several, given)}",
        f"dtype={given.index('dtype') if 'dtype' in given else ''}" if has_dtype(name, function) else "",
    ]
    return " | ".join((",".join(fit.results), places, f"{cpu} {cuda}", " ".join(filter(None, flags))))


def _in_order(places: Sequence[Place], given: tuple[str, ...]) -> Iterator[Place]:
    order = {name: position for position, name in enumerate(given)}
    yield from sorted(places, key=lambda place: place if isinstance(place, int) else order.get(place, 99))


def _place(place: Place, given: tuple[str, ...]) -> str:
    if isinstance(place, str):
        return f"{given.index(place)}:{place}" if place in given else f"-:{place}"
    return f"{place}:{given[place]}" if place < len(given) else f"{place}:"


def _named(place: str, given: tuple[str, ...]) -> str:
    return given[int(place)] if place.isdigit() and int(place) < len(given) else place


def _takes_any_number(function: Callable[..., Any]) -> bool:
    try:
        return any(each.kind is each.VAR_POSITIONAL for each in inspect.signature(function).parameters.values())
    except ValueError:
        return False


def _variants(name: str, measured: Measured) -> dict[str, Fit | None]:
    """Where the rule is another one with and without a keyword: `torch.div` and `torch.div[rounding_mode]`."""
    keywords = {place for one in measured.seen for place in one.given if isinstance(place, str)}
    whole = fitted(name, measured)
    for keyword in sorted(keywords) if whole is None or whole.floats else ():
        without = fitted(name, measured._replace(seen=[one for one in measured.seen if keyword not in one.given]))
        having = fitted(name, measured._replace(seen=[one for one in measured.seen if keyword in one.given]))
        if without is not None and having is not None and not (without.floats or having.floats):
            return {name: without, f"{name}[{keyword}]": having}
    return {}


def table(measured: dict[str, Measured]) -> tuple[dict[str, list[str]], list[str]]:
    """Rows, each with the names of its operators; and the operators that no rule fits."""
    known = functions()
    rows: dict[str, list[str]] = defaultdict(list)
    left = []
    for name, one in measured.items():
        if name.rpartition(".")[2] in CASTS:
            continue
        if one.seen and all(not each.results for each in one.seen):
            ran = any(each.results is not None for each in one.seen)
            (rows["python"] if ran else left).append(name)
            continue
        fits = {name: fitted(name, one), **_variants(name, one)}
        for each, fit in fits.items():
            if fit is not None:
                rows[_row(name, known[name], one, fit)].append(each)
        left += [name] * (fits[name] is None)
    return dict(sorted(rows.items())), left


def main() -> None:
    rows, left = table(measure())
    data = {"torch": torch.__version__.partition("+")[0], "rows": {row: " ".join(names) for row, names in rows.items()}}
    FILE.write_text(json.dumps(data, indent=1) + "\n")
    print(f"{sum(map(len, rows.values()))} operators in {len(rows)} rows; no rule fits: {' '.join(left)}")


if __name__ == "__main__":
    main()
