"""The loss scale read in passing: what is a silent chain, and what is not."""

from __future__ import annotations

import textwrap

import pytest

from verifygate.config.settings import StaticSettings
from verifygate.model import Construct, ConstructKind
from verifygate.sources.file import SourceFile
from verifygate.sources.tree import Sources
from verifygate.static.engine import analyse

CHAIN = """
    def scale_of(trainer):
        plugin = getattr(trainer, "precision_plugin", None)
        scaler = getattr(plugin, "scaler", None)
        get_scale = getattr(scaler, "get_scale", None)
        return float(get_scale()) if callable(get_scale) else None
"""
NESTED = """
    def log(run, trainer):
        scaler = getattr(getattr(trainer, "strategy", None), "scaler", None)
        if scaler is not None:
            run.log({"scale": scaler.get_scale()})
"""
WALRUS = """
    def log(run, trainer):
        if (plugin := getattr(trainer, "plugin", None)) and (scaler := getattr(plugin, "scaler", None)):
            run.log({"scale": scaler.get_scale()})
"""
SWALLOWED = """
    def scale_of(trainer):
        try:
            return trainer.strategy.precision_plugin.scaler.get_scale()
        except Exception:
            return None
"""
BARE = """
    def log(run, trainer):
        try:
            run.log({"scale": trainer.scaler.get_scale()})
        except:
            pass
"""
FROM_SCALER = """
    def log(run, scaler):
        run.log({"scale": scaler.get_scale()})
"""
ONE_LINK = """
    def log(run, scaler):
        get_scale = getattr(scaler, "get_scale", None)
        if get_scale:
            run.log({"scale": get_scale()})
"""
OTHER_DEFAULT = """
    def scale_of(trainer):
        return getattr(getattr(trainer, "plugin", NO_PLUGIN), "scaler", NO_SCALER).get_scale()
"""
RAISES = (
    CHAIN
    + """
    def scale_of(trainer):
        scaler = getattr(getattr(trainer, "plugin", None), "scaler", None)
        if scaler is None:
            raise RuntimeError("no scaler to log the scale of")
        return scaler.get_scale()
"""
)
WARNS = """
    def scale_of(trainer):
        try:
            return trainer.scaler.get_scale()
        except AttributeError:
            logger.warning("no loss scale to log")
            return None
"""
NARROW = """
    def scale_of(table):
        try:
            return table["scaler"].get_scale()
        except KeyError:
            return None
"""
ELSEWHERE = """
    def configure(args, scaler):
        optimizer = getattr(getattr(args, "training", None), "optimizer", None)
        return optimizer, scaler.get_scale()
"""


def passive(text: str) -> list[Construct]:
    source = SourceFile("train.py", textwrap.dedent(text).encode())
    found = analyse(Sources([source]), StaticSettings(select=("AMP201",))).constructs
    return [each for each in found if each.kind is ConstructKind.PASSIVE_SCALE]


@pytest.mark.parametrize(
    ("text", "line", "how"),
    [
        (CHAIN, 3, "3 `getattr(..., None)` in a row (precision_plugin, scaler, get_scale)"),
        (NESTED, 3, "2 `getattr(..., None)` in a row (strategy, scaler)"),
        (WALRUS, 3, "2 `getattr(..., None)` in a row (plugin, scaler)"),
        (SWALLOWED, 4, "every error swallowed"),
        (BARE, 4, "every error swallowed"),
    ],
)
def test_a_reading_that_fails_in_silence_is_named(text: str, line: int, how: str):
    """At the first link of its chain, whichever rules are selected."""
    (found,) = passive(text)
    assert found.line == line
    assert how in found.note
    assert "nobody is told" in found.note


@pytest.mark.parametrize("text", [FROM_SCALER, ONE_LINK, OTHER_DEFAULT, WARNS, NARROW, ELSEWHERE])
def test_a_reading_that_cannot_fail_in_silence_is_not(text: str):
    """From the scaler itself, with another default than None, with a warning, or of something else."""
    assert passive(text) == []


def test_a_function_that_raises_is_not_silent():
    """It is told apart from one of the same name that is."""
    (found,) = passive(RAISES)
    assert found.symbol == "scale_of"
    assert found.line == 3


def test_that_it_is_read_once_an_epoch_is_said_only_where_it_is_so():
    """Every caller in the file has to be a hook of the epoch's end, or the function itself one."""
    in_class = "class Log:\n" + textwrap.indent(textwrap.dedent(CHAIN.replace("scale_of(", "scale_of(self, ")), "    ")
    hook = "    def {name}(self, trainer):\n        self.run.log(self.scale_of(trainer))\n"
    once = "`Log.on_train_epoch_end` alone, which runs once an epoch"
    assert once in passive(in_class + hook.format(name="on_train_epoch_end"))[0].note
    both = in_class + hook.format(name="on_train_epoch_end") + hook.format(name="on_train_batch_end")
    assert "epoch" not in passive(both)[0].note
    assert "epoch" not in passive(in_class)[0].note
    assert "which runs once an epoch" in passive(NESTED.replace("def log", "def on_validation_epoch_end"))[0].note
