"""What the page of the verdict shows."""

from __future__ import annotations

from itertools import groupby

from markupsafe import Markup

from verifygate.model import Outcome, Reason, StageResult, Verdict, WaiverState, WaiverUse
from verifygate.report.causes import Cause, causes
from verifygate.report.conclusion import Recommendation, recommendations, sentences
from verifygate.report.pages.page import Page


class GatePage(Page):
    """The merged report: verdict, what blocks, what is not known, what to do."""

    @property
    def loud_verdict(self) -> Markup:
        told = self.verdict_in_words
        return Markup(told if self.report.verdict is Verdict.PASS else f"**{told}**")  # noqa: S704

    @property
    def sentences(self) -> tuple[str, str, str]:
        return sentences(self)

    @property
    def recommendations(self) -> list[tuple[str, list[Recommendation]]]:
        """What to do, by urgency."""
        return [(urgency, list(group)) for urgency, group in groupby(recommendations(self), key=lambda r: r.urgency)]

    @property
    def causes(self) -> list[Cause]:
        """What blocks, each cause once."""
        return causes(self.report.reasons)

    def impact_of(self, reason: Reason) -> str:
        """What the finding that a reason is about does to a training."""
        finding = self.finding_of(reason)
        return self.impact(finding.rule) if finding else ""

    def page_of(self, stage: StageResult) -> Markup:
        return self._stage_link(stage.stage)

    def stage_verdict(self, stage: StageResult) -> Markup:
        if stage.outcome is Outcome.NOT_APPLICABLE or stage.verdict is None:
            return Markup("NOT APPLICABLE")
        return self.status(stage.verdict) + (" (errored)" if stage.outcome is Outcome.ERRORED else "")

    def waiver_state(self, use: WaiverUse) -> Markup:
        return Markup(use.state.value if use.state is WaiverState.IN_FORCE else f"**{use.state.value}**")  # noqa: S704

    @property
    def devices(self) -> list[str]:
        return sorted({m.device for stage in self.report.stages for m in stage.measurements})
