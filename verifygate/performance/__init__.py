"""The performance stage: what AMP gains in speed and memory, and what it costs in accuracy, measured in paired runs."""

from verifygate.performance.stage import PerformanceStage, summarised

__all__ = ["PerformanceStage", "summarised"]
