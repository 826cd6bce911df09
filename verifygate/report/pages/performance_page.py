"""What the page of the performance stage shows."""

from __future__ import annotations

from verifygate.model import Measurement, StageResult
from verifygate.report.pages.page import StagePage

_TOPICS = {  # words in the name of a metric; the first topic that has one takes the measurement
    "Throughput": ("throughput",),
    "Effective steps": ("effective", "trained"),
    "Bottlenecks": ("data-wait", "host-waits", "low-precision", "device-busy"),
    "Step time": ("speedup", "step"),
    "Memory": ("memory", "bytes"),
    "Accuracy": ("accuracy", "loss"),
}
OTHER_TOPIC = "Other"


class PerformancePage(StagePage):
    """Measurements by topic."""

    def targets(self, stage: StageResult) -> list[Measurement]:
        return [m for m in stage.measurements if m.target]

    def topic(self, stage: StageResult | None, title: str) -> list[Measurement]:
        """The measurements about one thing; each belongs to exactly one topic."""
        return [m for m in stage.measurements if _topic(m) == title] if stage else []

    def sampled(self, stage: StageResult | None) -> list[Measurement]:
        """Measurements whose samples are in the report and worth a picture: rows of right and wrong are not."""
        measurements = stage.measurements if stage else ()
        return [m for m in measurements if any(arm.samples and arm.unit not in ("score", "steps") for arm in m.arms)]


def _topic(measurement: Measurement) -> str:
    about = measurement.metric
    return next((title for title, marks in _TOPICS.items() if any(mark in about for mark in marks)), OTHER_TOPIC)
