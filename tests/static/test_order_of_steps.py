"""What a finding tells comes in the order of the source, in whatever order the values were found."""

from __future__ import annotations

from pathlib import Path

from verifygate.source import read_sources
from verifygate.static.choice import Choice
from verifygate.static.engine import analyse

KINDS = range(12)


def test_dicts_that_lack_a_key_are_told_in_the_order_they_stand_in(tmp_path: Path):
    """Twelve of them: values are kept in sets, and those of dicts go by where they happen to lie in memory."""
    arms = "".join(f"    if kind == {kind}:\n        return {{'loss_{kind}': kind, 'step': 0}}\n" for kind in KINDS)
    text = (
        "from torch.amp import autocast\n\n\ndef measure(kind):\n"
        + arms
        + "    return {'loss': kind}\n\n\ndef tell(kind):\n    return measure(kind)['epoch']\n"
    )
    (tmp_path / "train.py").write_text(text, encoding="utf-8")

    found = analyse(read_sources(tmp_path, ["."]), Choice(select=("KEY101",))).findings

    (finding,) = found
    lines = [step.line for step in finding.steps]
    assert len(lines) == len(KINDS) + 2
    assert lines == sorted(lines)
