"""What the page of the verdict shows."""

from __future__ import annotations

from markupsafe import Markup

from verifygate.model import Outcome, StageResult, WaiverState, WaiverUse
from verifygate.report.pages.page import Page


class GatePage(Page):
    """The merged report: verdict, stages, waivers."""

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
