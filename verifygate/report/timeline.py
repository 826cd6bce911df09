"""The AMP timeline of a recorded run: the order of events in a step, and the way of each loss scale with its skips."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

from verifygate.base.counts import counted
from verifygate.model import ScaleChange, StepOrder, TraceSummary

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

FILE = "amp-timeline.svg"
TITLE = "AMP timeline of the recorded run"
MOST_ORDERS = 4
MOST_SCALERS = 6
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
DASHES = ("-", "--", "-.", ":")
REGION, STEP, OTHER = "#56B4E9", "#E69F00", "#dddddd"
SHORT = {"optimizer-step": "optimizer step"}


def orders_of(trace: TraceSummary) -> list[StepOrder]:
    """The orders in which most steps were taken."""
    orders = trace.own.orders if trace.own else ()
    return sorted(orders, key=lambda order: -order.times)[:MOST_ORDERS]


def scales_of(trace: TraceSummary) -> list[list[ScaleChange]]:
    """The way of the scale of each scaler that moved it, those with most changes first."""
    ways: dict[int, list[ScaleChange]] = {}
    for change in trace.scales:
        ways.setdefault(change.scaler, []).append(change)
    moved = [way for way in ways.values() if len(way) > 1]
    return sorted(moved, key=lambda way: -len(way))[:MOST_SCALERS]


def skips_of(way: Sequence[ScaleChange]) -> list[ScaleChange]:
    """Where a scale fell: the scaler backs off when it skips a step."""
    return [now for before, now in pairwise(way) if now.scale < before.scale]


def shown(name: str, most: int = 24) -> str:
    """A name as a font can show it; one that begins with an underscore would be left out of a legend."""
    return "".join(letter if letter.isascii() and letter.isprintable() else "?" for letter in name[:most]).lstrip("_")


def in_words(trace: TraceSummary) -> str:
    """What the picture shows, for those who do not see it."""
    told = [f"{' then '.join(order.events)}: {counted(order.times, 'step')}" for order in orders_of(trace)]
    told += [
        f"scaler {way[0].scaler}: scale {way[0].scale:g} to {way[-1].scale:g}, {counted(len(skips_of(way)), 'fall')}"
        for way in scales_of(trace)
    ]
    return f"Autocast regions: {', '.join(trace.devices) or 'none'}. {'; '.join(told)}"


def draw(figure: Figure, trace: TraceSummary) -> None:
    """The orders above, the scales below, as far as there are any."""
    orders, ways = orders_of(trace), scales_of(trace)
    heights = [*([0.35 + 0.35 * len(orders)] if orders else []), *([2.2] if ways else [])]
    figure.set_size_inches(8, sum(heights) + 0.4)
    panels = list(figure.subplots(len(heights), 1, squeeze=False, height_ratios=heights)[:, 0])
    if orders:
        _draw_orders(panels.pop(0), orders, ", ".join(trace.devices))
    if ways:
        _draw_scales(panels.pop(0), ways)


def _draw_orders(axes: Axes, orders: Sequence[StepOrder], regions: str) -> None:
    """A row of boxes for each order; what runs in or after an autocast region begins with one."""
    width = max(len(order.events) for order in orders)
    for row, order in enumerate(orders):
        for at, event in enumerate(order.events):
            colour = REGION if event == "autocast" else STEP if event in ("step", "optimizer-step") else OTHER
            axes.barh(row, 0.92, left=at, height=0.62, color=colour, edgecolor="#555555", linewidth=0.6)
            axes.text(
                at + 0.46, row, shown(SHORT.get(event, event), 15), ha="center", va="center", fontsize=8, color="black"
            )
    axes.set_yticks(range(len(orders)), [counted(order.times, "step") for order in orders])
    axes.set_ylim(len(orders) - 0.5, -0.5)
    axes.set_xlim(0, max(width, 4))
    axes.set_xticks([])
    axes.grid(visible=False)
    axes.spines["bottom"].set_visible(False)
    told = f"events of a step, from its first forward on; regions: {shown(regions, 60) or 'none'}"
    axes.set_title(told, fontsize=9, loc="left")


def _draw_scales(axes: Axes, ways: Sequence[Sequence[ScaleChange]]) -> None:
    crossed = False
    for index, way in enumerate(ways):
        steps, scales = [change.step for change in way], [change.scale for change in way]
        named, dash = f"scaler {way[0].scaler}", DASHES[index % 4]
        axes.step(steps, scales, dash, where="post", linewidth=1.6, label=named, color=COLOURS[index % 6])
        skips = skips_of(way)
        label = "" if crossed or not skips else "step skipped"
        crossed = crossed or bool(skips)
        axes.plot([s.step for s in skips], [s.scale for s in skips], "x", color="black", markersize=6, label=label)
    axes.set_yscale("log", base=2)
    axes.yaxis.set_major_formatter("{x:g}")
    axes.set_xlim(left=0)
    axes.set_xlabel("steps of the scaler")
    axes.set_ylabel("loss scale")
    axes.legend(frameon=False, fontsize=8, ncols=2)
