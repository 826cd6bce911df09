"""Settings told apart by their words: two that name a precision, and share none, are two settings."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from verifygate.static.analysis import Analysis
from verifygate.static.idioms.amp_switches import speak_of_precision, words_of
from verifygate.static.rules.amp3_life import amp303_enabled_mismatch


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("args.use_fp16", {"fp", "16"}),
        ("self.fp16", {"fp", "16"}),
        ("cfg.train.mixedPrecision", {"mixed", "precision"}),
        ("not config.enable_amp", {"amp"}),
        ("self.model.use", set()),
        ("opts.distributed", {"distributed"}),
        ("scaler is not None", {"scaler"}),
    ],
)
def test_the_words_of_a_setting(text: str, words: set[str]) -> None:
    assert words_of(text) == words


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        (("args.fp16", "args.amp"), True),
        (("args.fp16", "args.distributed"), False),
        (("args.debug", "args.amp"), False),
        (("args.debug",), False),
        (("args.half", "args.use_autocast", "scaler"), True),
    ],
)
def test_settings_that_name_a_precision(settings: tuple[str, ...], expected: bool) -> None:
    assert speak_of_precision(*map(words_of, settings)) is expected


SWITCHES = """
import torch
from torch.amp import GradScaler, autocast

def train(model, loader, loss_fn, {first}: bool, {second}: bool):
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    scaler = GradScaler("cuda", enabled={first})
    for x, y in loader:
        optimizer.zero_grad()
        with autocast("cuda", dtype=torch.float16, enabled={second}):
            loss = loss_fn(model(x), y)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
"""


@pytest.mark.parametrize(
    ("first", "second", "reported"),
    [("fp16", "amp", True), ("fp16", "fp16", False), ("fast", "amp", False), ("fp16", "quick", False)],
)
def test_a_flag_that_names_no_precision_may_be_the_same_setting(
    first: str, second: str, reported: bool, analysed: Callable[[str], Analysis]
) -> None:
    """AMP303: a scaler and its region are switched by different settings, where both say that they are about one."""

    analysis = analysed(SWITCHES.format(first=first, second=second))
    messages = [match.message for match in amp303_enabled_mismatch.check(analysis)]
    assert any("different settings" in message for message in messages) is reported
