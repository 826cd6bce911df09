"""Pictures of a stage as SVG: pure functions of the report, the same bytes for the same report.

matplotlib draws them (extra `performance`). Text becomes paths, so that no font of a reader's machine is asked for; ids
come from a fixed salt; there is no date. The colours are Okabe and Ito's, told apart with any colour vision; shapes,
dashes and hatches say the same once more; the ground is white, so that they can be read in a dark page too.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from io import StringIO
from statistics import median
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from verifygate.base.distribution import install
from verifygate.model import Arm, Curve, ExecutionDetails, PerformanceDetails, Profile, StageResult
from verifygate.report import timeline
from verifygate.report.timeline import shown

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MISSING = f"the pictures need matplotlib: `{install('performance')}`"
FILES = ("step-time.svg", "training.svg", "loss-scale.svg", "memory.svg", timeline.FILE)
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
DASHES = ("-", "--", "-.", ":")
MARKERS = ("o", "s", "^", "D")
HATCHES = ("", "//", "\\\\", "xx", "", "--")
STYLE: Mapping[str, Any] = MappingProxyType(
    {
        "axes.grid": True,
        "axes.axisbelow": True,
        "axes.spines.right": False,
        "axes.spines.top": False,
        "figure.facecolor": "white",
        "font.family": "DejaVu Sans",  # it comes with matplotlib
        "font.size": 10,
        "grid.color": "#dddddd",
        "hatch.linewidth": 0.6,
        "savefig.facecolor": "white",
        "svg.fonttype": "path",
        "text.parse_math": False,
    }
)


@dataclass(frozen=True)
class Picture:
    """One drawing."""

    file: str
    title: str
    alt: str
    """What it shows, for those who do not see it."""
    svg: str

    @property
    def inline(self) -> Markup:
        """The drawing as a part of an HTML page: no XML head, and ids that no other drawing has."""
        body = self.svg[self.svg.index("<svg") :]
        stem = self.file.partition(".")[0]
        body = re.sub(r'\bid="', f'id="{stem}-', body)
        body = re.sub(r'(href="#|url\(#)', rf"\g<1>{stem}-", body)
        label = Markup('<svg role="img" aria-label="{}"').format(self.alt)
        return Markup(body.replace("<svg", label, 1))  # noqa: S704 - matplotlib's own text, and numbers


@dataclass(frozen=True)
class Pictures:
    """The drawings of a stage, or why there are none."""

    found: tuple[Picture, ...] = ()
    missing: str = ""

    @classmethod
    def of(cls, stage: StageResult | None) -> Pictures:
        """Draw what there is to draw; matplotlib is asked for only then."""
        wanted = _wanted(stage) if stage else []
        if not wanted:
            return cls()
        try:
            import matplotlib as mpl
        except ImportError:
            return cls(missing=MISSING)
        found = []
        for file, title, alt, draw in wanted:
            with mpl.rc_context():
                mpl.rcdefaults()  # whatever a reader's matplotlibrc says
                style: Any = {**STYLE, "svg.hashsalt": file}
                mpl.rcParams.update(style)
                found.append(Picture(file, title, alt, _svg(draw)))
        return cls(tuple(found))


def _svg(draw: Callable[[Figure], None]) -> str:
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8, 3), layout="constrained")
    FigureCanvasSVG(figure)
    draw(figure)
    out = StringIO()
    figure.savefig(out, format="svg", metadata={"Date": None, "Creator": None})
    return re.sub(r"[ \t]+$", "", out.getvalue(), flags=re.MULTILINE)


def _wanted(stage: StageResult) -> list[tuple[str, str, str, Callable[[Figure], None]]]:
    if isinstance(stage.details, ExecutionDetails):
        return _of_execution(stage.details)
    details = stage.details if isinstance(stage.details, PerformanceDetails) else PerformanceDetails()
    found: list[tuple[str, str, str, Callable[[Figure], None]]] = []
    if times := _step_times(stage):
        shown = "; ".join(f"{arm.name}: median {median(arm.samples or ()) * 1000:.4g} ms" for arm in times)
        found.append((FILES[0], "Step time", f"Time of each timed step. {shown}", lambda f: _strips(f, times)))
    curves = [curve for curve in details.curves or () if curve.loss or curve.accuracy]
    if curves:
        names = ", ".join(curve.arm for curve in curves)
        alt = f"Loss and accuracy over the steps of the training, of {names}"
        found.append((FILES[1], "Loss and accuracy", alt, lambda f: _training(f, curves)))
    scaled = [curve for curve in details.curves or () if curve.scale]
    if scaled:
        counts = "; ".join(f"{curve.arm}: {len(curve.skipped)} skipped" for curve in scaled)
        found.append((FILES[2], "Loss scale", f"Loss scale over the steps. {counts}", lambda f: _scales(f, scaled)))
    profiles = [profile for profile in details.profiles or () if profile.anatomy]
    if profiles:
        peaks = "; ".join(f"{p.arm}: {p.anatomy.peak / 2**20:.4g} MiB" for p in profiles if p.anatomy)
        alt = f"What is alive at the peak of a step. {peaks}"
        found.append((FILES[3], "Memory at the peak of a step", alt, lambda f: _anatomy(f, profiles)))
    return found


def _of_execution(details: ExecutionDetails) -> list[tuple[str, str, str, Callable[[Figure], None]]]:
    trace = details.trace
    if trace is None or not (timeline.orders_of(trace) or timeline.scales_of(trace)):
        return []
    return [(timeline.FILE, timeline.TITLE, timeline.in_words(trace), lambda figure: timeline.draw(figure, trace))]


def _step_times(stage: StageResult) -> list[Arm]:
    """The samples of the first measurement of step time that has any: it holds fp32 and the judged arm."""
    for measurement in stage.measurements:
        arms = [arm for arm in measurement.arms if arm.unit == "s" and arm.samples]
        if measurement.metric == "speedup" and arms:
            return arms
    return []


def _strips(figure: Figure, arms: Sequence[Arm]) -> None:
    """One dot a step, in the order in which they were taken from top to bottom, and the median with its interval."""
    axes = figure.subplots()
    for row, arm in enumerate(arms):
        samples = [second * 1000 for second in arm.samples or ()]
        heights = [row + 0.6 * (index / len(samples) - 0.5) for index in range(len(samples))]
        axes.plot(samples, heights, MARKERS[row % 4], color=COLOURS[row % 6], markersize=3.5, alpha=0.6)
        low, high = median_interval(samples)
        axes.plot([low, high], [row + 0.4, row + 0.4], color="black", linewidth=2, solid_capstyle="butt")
        axes.plot([median(samples)], [row + 0.4], "|", color="black", markersize=9, markeredgewidth=2)
    axes.set_yticks(range(len(arms)), [shown(arm.name) for arm in arms])
    axes.set_ylim(len(arms) - 0.4, -0.5)
    axes.set_xlim(left=0)
    axes.set_xlabel("milliseconds a step (below each strip: median and its 95 % interval)")


def median_interval(samples: Sequence[float]) -> tuple[float, float]:
    """The order statistics between which the median lies with 95 % confidence, or nearly so for few samples."""
    ordered, n = sorted(samples), len(samples)
    reach = 1.96 * math.sqrt(n) / 2
    return ordered[max(0, math.floor(n / 2 - reach))], ordered[min(n - 1, math.ceil(n / 2 + reach))]


def _training(figure: Figure, curves: Sequence[Curve]) -> None:
    panels = [name for name in ("loss", "accuracy") if any(getattr(curve, name) for curve in curves)]
    for axes, name in zip(figure.subplots(1, len(panels), squeeze=False)[0], panels, strict=True):
        for index, curve in enumerate(curves):
            points = getattr(curve, name)
            marker = MARKERS[index % 4] if len(points) < 12 else ""
            _line(axes, [p.step for p in points], [p.value for p in points], shown(curve.arm), index, marker)
        axes.set_xlabel("optimizer steps")
        axes.set_ylabel("mean score" if name == "accuracy" else name)
        axes.set_xlim(left=0)
        if name == "accuracy":
            axes.set_ylim(0, max(1.0, axes.get_ylim()[1]) * 1.02)
        axes.legend(frameon=False)


def _scales(figure: Figure, curves: Sequence[Curve]) -> None:
    axes = figure.subplots()
    for index, curve in enumerate(curves):
        steps, values = [p.step for p in curve.scale], [p.value for p in curve.scale]
        _line(axes, steps, values, shown(curve.arm), index, "", drawstyle="steps-post")
        if curve.skipped:
            after = [
                next((p.value for p in reversed(curve.scale) if p.step <= step), values[0]) for step in curve.skipped
            ]
            axes.plot(curve.skipped, after, "x", color="black", markersize=7, label=f"{shown(curve.arm)}: step skipped")
    axes.set_yscale("log", base=2)
    axes.yaxis.set_major_formatter("{x:g}")
    axes.set_xlabel("optimizer steps, with those that were skipped")
    axes.set_ylabel("loss scale")
    axes.set_xlim(left=0)
    axes.legend(frameon=False)


def _line(axes: Axes, steps: list[int], values: list[float], label: str, index: int, marker: str, **more: Any) -> None:
    axes.plot(
        steps, values, DASHES[index % 4], marker=marker, color=COLOURS[index % 6], linewidth=1.6, label=label, **more
    )


def _anatomy(figure: Figure, profiles: Sequence[Profile]) -> None:
    axes = figure.subplots()
    anatomies = [(shown(profile.arm), profile.anatomy) for profile in profiles if profile.anatomy]
    largest = max(anatomy.peak for _, anatomy in anatomies)
    size, unit = next((s, u) for s, u in ((2**30, "GiB"), (2**20, "MiB"), (2**10, "KiB"), (1, "B")) if largest >= s)
    kinds = [part.kind for part in anatomies[0][1].parts]
    left = [0.0] * len(anatomies)
    for index, kind in enumerate(kinds):
        widths = [anatomy.bytes_of(kind) / size for _, anatomy in anatomies]
        axes.barh(
            range(len(anatomies)),
            widths,
            left=left,
            height=0.6,
            color=COLOURS[index % 6],
            hatch=HATCHES[index % 6],
            edgecolor="white",
            label=kind,
        )
        left = [a + b for a, b in zip(left, widths, strict=True)]
    for row, whole in enumerate(left):
        axes.text(whole, row, f" {whole:.4g} {unit}", va="center")
    axes.set_yticks(range(len(anatomies)), [name for name, _ in anatomies])
    axes.set_ylim(len(anatomies) - 0.5, -0.5)
    axes.set_xlim(0, max(left) * 1.15)
    axes.set_xlabel(f"{unit} alive at the peak of a step")
    axes.grid(visible=False, axis="y")
    figure.legend(loc="outside upper center", ncols=6, frameon=False, handlelength=1.2, columnspacing=1.0)
