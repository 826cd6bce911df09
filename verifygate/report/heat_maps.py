"""What a probe measured in each module over the sampled steps, as heat maps: SVG that needs nothing else.

Each cell has its number, so colour is never alone in saying it. A cell brings its own ground and ink; all other text
takes the page's, light or dark.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from verifygate.model.health import HealthReport
from verifygate.report.escape import cap, html_text, plain

MOST = 40
"""Modules of one map: the worst."""
LETTERS = 40
"""Letters of a name that are shown; the cell's title has all."""
SHADES = (
    ("#eef3fa", "#000000"),
    ("#c6dbef", "#000000"),
    ("#85bcdb", "#000000"),
    ("#2a6fb0", "#ffffff"),
    ("#0b3a75", "#ffffff"),
)
"""Ground and ink of a cell, from harmless to bad."""
LINE, CELL, NAMES, LEGEND = 22, 62, 300, 120

Value = float | None
"""None where it was not finite."""


@dataclass(frozen=True)
class Scale:
    """How a number becomes a shade and a text."""

    words: tuple[str, str, str, str, str]
    """Of each shade, from harmless to bad."""
    shade: Callable[[float], int]
    shown: Callable[[float], str]


def _classes(limits: Sequence[float]) -> Callable[[float], int]:
    return lambda value: sum(value >= limit for limit in limits)


HEADROOM = Scale(
    ("6 bits or more", "below 6", "below 3", "below 1", "overflow"),
    lambda value: 3 - sum(value >= limit for limit in (1.0, 3.0, 6.0)),
    lambda value: f"{value:.1f}",
)
ERROR = Scale(
    ("below 0.001", "from 0.001", "from 0.01", "from 0.1", "not finite"),
    _classes((1e-3, 1e-2, 1e-1)),
    lambda value: f"{value:.1e}",
)
UNDERFLOW = Scale(
    ("none", "above 0", "from 1%", "from 10%", "from 50%"),
    lambda value: (value > 0) + _classes((0.01, 0.1, 0.5))(value),
    lambda value: f"{value:.1%}",
)


@dataclass(frozen=True)
class HeatMap:
    """One quantity: a row for each module, a column for each step."""

    key: str
    title: str
    says: str
    """What a number means, in one sentence."""
    scale: Scale
    steps: tuple[int, ...]
    rows: tuple[tuple[str, Mapping[int, Value]], ...]
    """Module, and its values by step; a step that is not there was not measured."""
    left_out: int = 0
    """Modules beyond `MOST`."""

    @property
    def svg(self) -> Markup:
        """The drawing, as a part of a page or alone in a file."""
        width = max(NAMES + CELL * len(self.steps), LEGEND * len(SHADES)) + 10
        height = LINE * (len(self.rows) + 3) + 10
        head = (
            f'<svg xmlns="http://www.w3.org/2000/svg" role="img" aria-labelledby="{self.key}-title {self.key}-desc"'
            f' viewBox="0 0 {width} {height}" width="{width}" height="{height}"'
            ' font-family="sans-serif" font-size="12">'
        )
        title = f'<title id="{self.key}-title">{html_text(self.title)}</title>'
        desc = f'<desc id="{self.key}-desc">{html_text(self.says)} The table below has the same numbers.</desc>'
        parts = [head, title, desc, *self._steps(), *self._cells(), *self._legend(), "</svg>"]
        return Markup("\n".join(parts))  # noqa: S704 - every text went through html_text

    def shown(self, values: Mapping[int, Value], step: int) -> str:
        """A value as a text: in its cell, and in the table."""
        if step not in values:
            return "-"
        value = values[step]
        return self.scale.shown(value) if value is not None else "inf/NaN"

    def _steps(self) -> list[str]:
        return [_text(NAMES + CELL * (at + 0.5), LINE, f"step {step}", "middle") for at, step in enumerate(self.steps)]

    def _cells(self) -> list[str]:
        found = []
        for line, (name, values) in enumerate(self.rows, 1):
            top = LINE * (line + 0.4)
            short = name if len(name) <= LETTERS else f"…{name[-LETTERS + 1 :]}"
            found.append(_text(NAMES - 8, top + 15, short, "end"))
            for at, step in enumerate(self.steps):
                left, text = NAMES + CELL * at, self.shown(values, step)
                if step not in values:
                    found.append(_text(left + CELL / 2, top + 15, text, "middle"))
                    continue
                value = values[step]
                ground, ink = SHADES[self.scale.shade(value) if value is not None else 4]
                found.append(
                    f"<g><title>{html_text(f'{name}, step {step}: {text}')}</title>"
                    f'<rect x="{left + 1}" y="{top:g}" width="{CELL - 2}" height="{LINE - 2}" fill="{ground}"/>'
                    f"{_text(left + CELL / 2, top + 15, text, 'middle', ink)}</g>"
                )
        return found

    def _legend(self) -> list[str]:
        top, found = LINE * (len(self.rows) + 1.9), []
        for at, ((ground, _), words) in enumerate(zip(SHADES, self.scale.words, strict=True)):
            left = 10 + LEGEND * at
            found.append(
                f'<rect x="{left}" y="{top:g}" width="16" height="16" fill="{ground}" stroke="currentColor"/>'
                f"{_text(left + 22, top + 13, words)}"
            )
        return found


def heat_maps(report: HealthReport) -> list[HeatMap]:
    """Headroom, the error against float32 of outputs and of gradients, and underflow: those that were measured."""
    outputs = [row for row in report.shadow if row.what == "output"]
    gradients = [row for row in report.shadow if row.what == "gradient"]
    drawn = [
        _heat_map(
            "Headroom",
            "Doublings left below 65504: the least of a module's output, its gradient, and its parameters' gradients.",
            HEADROOM,
            _rooms(report),
        ),
        _heat_map(
            "Error of outputs",
            "Norm of the difference from float32 by the norm of what float32 gives.",
            ERROR,
            {row.name: dict(row.errors) for row in outputs},
        ),
        _heat_map(
            "Error of gradients",
            "The same of the gradient of each module's own parameters together.",
            ERROR,
            {row.name: dict(row.errors) for row in gradients},
        ),
        _heat_map(
            "Underflow",
            "Share of a gradient's elements that are zero in the run and not in float32.",
            UNDERFLOW,
            {row.name: dict[int, Value](row.underflows) for row in gradients},
        ),
    ]
    return [each for each in drawn if each.rows]


def _rooms(report: HealthReport) -> dict[str, dict[int, Value]]:
    """The least headroom of each module, its own parameters included."""
    found: dict[str, dict[int, Value]] = {}
    for row in report.rows:
        rooms = found.setdefault(row.name.rpartition(".")[0] if row.parameter else row.name, {})
        for step, room in row.rooms:
            before = rooms.get(step, math.inf)
            rooms[step] = None if room is None or before is None else min(room, before)
    return found


def _heat_map(title: str, says: str, scale: Scale, values: Mapping[str, Mapping[int, Value]]) -> HeatMap:
    measured = {name: by_step for name, by_step in values.items() if by_step}
    steps = tuple(sorted({step for by_step in measured.values() for step in by_step}))

    def badness(name: str) -> tuple[int, float]:
        """Of its worst cell."""
        found = [(4, math.inf) if value is None else _worth(scale, value) for value in measured[name].values()]
        return max(found)

    worst = sorted(measured, key=badness, reverse=True)[:MOST]
    rows = tuple((plain(name), measured[name]) for name in measured if name in set(worst))
    key = f"map-{title.lower().replace(' ', '-')}"
    return HeatMap(key, title, says, scale, steps, rows, len(measured) - len(rows))


def _worth(scale: Scale, value: float) -> tuple[int, float]:
    return scale.shade(value), -value if scale is HEADROOM else value


def _text(x: float, y: float, text: str, anchor: str = "start", ink: str = "currentColor") -> str:
    words = html_text(cap(text, LETTERS * 2))
    return f'<text x="{x:g}" y="{y:g}" text-anchor="{anchor}" fill="{ink}">{words}</text>'
