"""The settings that decide a verdict, in words: what a report lists as its policy."""

from __future__ import annotations

from verifygate.config.settings import FileSettings
from verifygate.model import PolicySetting, Severity
from verifygate.stage_registry import STAGES


def policy_of(settings: FileSettings) -> tuple[PolicySetting, ...]:
    """The settings by which a finding blocks, counts, or is not looked for, each with its default."""
    own, default = (_in_words(each) for each in (settings, FileSettings()))
    return tuple(PolicySetting(key=key, value=own[key], default=default[key]) for key in own)


def _in_words(settings: FileSettings) -> dict[str, str]:
    """Setting -> its value in words."""
    static, verdict = settings.static, settings.verdict
    return {
        "verdict.block": ", ".join(severity for severity in Severity if severity in verdict.block) or "nothing",
        "verdict.weights": ", ".join(f"{name} {verdict.weights.get(name, 0)}" for name in STAGES),
        "verdict.baseline": verdict.baseline or "no file",
        "verdict.advisory_until": str(verdict.advisory_until or "no day"),
        "verdict.allow_new_suppressions": _on(verdict.allow_new_suppressions),
        "static.select": ", ".join(static.select) or "all rules",
        "static.ignore": ", ".join(static.ignore) or "no rule",
        "static.per_file_ignores": "; ".join(
            f"{pattern}: {', '.join(codes)}" for pattern, codes in sorted(static.per_file_ignores.items())
        )
        or "no file",
        "static.abstract_run": _on(static.abstract_run),
        "static.models": ", ".join(static.models) or "no file",
        "requirements.junit": ", ".join(f"{each.file} {each.kind}" for each in settings.requirements.junit)
        or "no file",
        "project.exclude": ", ".join(settings.project.exclude) or "no file",
        "execution.tests": "there are some" if settings.execution.tests else "there are none",
        "execution.isolation": settings.execution.isolation or "auto, off beside an accelerator",
        "execution.hermetic": _on(settings.execution.hermetic),
        "execution.pass_env": ", ".join(settings.execution.pass_env) or "no variable",
        "execution.coverage": _on(settings.execution.coverage),
        "execution.recorder": _on(settings.execution.recorder),
        "execution.emulate_cuda": _on(settings.execution.emulate_cuda),
        "performance.profile": _on(settings.performance.profile),
        "performance.records.max_age_days": str(settings.performance.records.max_age_days),
    }


def _on(setting: bool) -> str:
    return "on" if setting else "off"
