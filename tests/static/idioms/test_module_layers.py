"""The layers of a module, as rules enumerate them."""

from __future__ import annotations

from pathlib import Path

from verifygate.sources.discovery import read_sources
from verifygate.static.analysis import Analysis
from verifygate.static.idioms.module_layers import layers_of
from verifygate.static.prefilter import Prefilter
from verifygate.static.registry import load_rules
from verifygate.static.symbols.program import Program

IN_ITSELF = """
import torch
from torch import nn

scaler = torch.amp.GradScaler()


def build(count):
    layers = [nn.Linear(4, 4)]
    for _ in range(count):
        layers = [layers, nn.Linear(8, 8)]
    return layers
"""


def test_a_list_that_a_loop_puts_into_itself_has_an_end(tmp_path: Path) -> None:
    (tmp_path / "net.py").write_text(IN_ITSELF)
    sources = read_sources(tmp_path, ["."])
    analysis = Analysis(Program(sources, Prefilter(sources, load_rules().values()).named()))
    build = next(each for each in analysis.functions if each.symbol == "build")

    found = [each.place.line for each in layers_of(build.returns[0], analysis.evaluator.root_frame(build), analysis)]

    assert set(found) == {9, 11}
