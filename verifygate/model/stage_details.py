"""The base class of what each stage alone reports."""

from __future__ import annotations

from verifygate.model.base import Model


class StageDetails(Model):
    """The details of one stage, which only its own page shows.

    A subclass names its stage: `kind: Literal["static"] = "static"`. Its module is loaded with `StageResult`, so it
    imports neither that nor the stage.
    """
