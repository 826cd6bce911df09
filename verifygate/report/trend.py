"""The last runs as a small picture: the score of each, and its verdict by shape and colour."""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup

from verifygate.base.counts import counted
from verifygate.model import Verdict
from verifygate.model.past_run import PastRun
from verifygate.report.quantities import points

WIDTH, HEIGHT, MARGIN = 640, 120, 16
_GREEN, _RED, _LINE = "#1a7f37", "#cf222e", "#57606a"


def words(runs: Sequence[PastRun]) -> str:
    """`12 runs: 10 PASS, 2 BLOCK; score 91.00 at first, 97.75 now; 3 findings at first, 1 now`."""
    if len(runs) == 1:
        return "1 run"
    passed = sum(run.verdict is Verdict.PASS for run in runs)
    scores = [points(run.score) for run in (runs[0], runs[-1]) if run.score is not None]
    score = f"; score {scores[0]} at first, {scores[1]} now" if len(scores) == 2 else ""
    first, last = (each.critical + each.high + each.medium + each.low for each in (runs[0], runs[-1]))
    told = f"{counted(len(runs), 'run')}: {passed} PASS, {len(runs) - passed} BLOCK"
    return f"{told}{score}; {counted(first, 'finding')} at first, {last} now"


def drawn(runs: Sequence[PastRun]) -> Markup:
    """The picture as a part of an HTML page; empty for fewer than two runs: they show no trend."""
    if len(runs) < 2:
        return Markup("")
    across = (WIDTH - 2 * MARGIN) / (len(runs) - 1)
    places = [(MARGIN + number * across, _height(run), run) for number, run in enumerate(runs)]
    line = " ".join(f"{x:.1f},{y:.1f}" for x, y, run in places if run.score is not None)
    head = Markup(
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {} {}" width="{}" height="{}" role="img" aria-label="{}">'
        '<rect width="100%" height="100%" fill="#fff"/><polyline fill="none" stroke="{}" points="{}"/>'
    ).format(WIDTH, HEIGHT, WIDTH, HEIGHT, f"Trend of {words(runs)}", _LINE, line)
    return head + Markup("").join(_mark(*each) for each in places) + Markup("</svg>")


def _height(run: PastRun) -> float:
    score = float(run.score) if run.score is not None else 0.0
    return MARGIN + (HEIGHT - 2 * MARGIN) * (1 - score / 100)


def _mark(x: float, y: float, run: PastRun) -> Markup:
    score = "not scored" if run.score is None else points(run.score)
    told = f"{run.started[:10]} {run.commit[:12]}: {run.verdict}, {score}, {counted(run.reasons, 'reason')} to block"
    if run.verdict is Verdict.PASS:
        return Markup('<circle cx="{:.1f}" cy="{:.1f}" r="4" fill="{}"><title>{}</title></circle>').format(
            x, y, _GREEN, told
        )
    cross = f"M{x - 4:.1f} {y - 4:.1f}l8 8m0 -8l-8 8"
    return Markup('<path d="{}" stroke="{}" stroke-width="2"><title>{}</title></path>').format(cross, _RED, told)
