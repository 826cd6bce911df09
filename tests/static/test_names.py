"""Calls that are passed over because nothing binds their name are asked again once a file that binds it is parsed."""

from __future__ import annotations

import ast

from verifygate.sources.file import SourceFile
from verifygate.sources.tree import Sources
from verifygate.static.analysis import Analysis
from verifygate.static.lowering.reachability import Reachability
from verifygate.static.symbols.program import Program

MAIN = b"""
import torch
from helper import Shortener

def train(model, loader, optimizer, shortener):
    scaler = torch.amp.GradScaler("cuda")
    for batch in loader:
        optimizer.zero_grad()
        with torch.autocast("cuda"):
            loss = model(batch)
        scaler.scale(loss).backward()
        shortener.shorten()
        scaler.unscale_(optimizer)
        scaler.step(optimizer)
        scaler.update()

def main(model, loader, optimizer):
    train(model, loader, optimizer, Shortener(model))
"""
HELPER = b"""
from torch.nn.utils import clip_grad_norm_

class Shortener:
    def __init__(self, model):
        self.model = model

    def shorten(self):
        clip_grad_norm_(self.model.parameters(), 1.0)
"""


def looked_at(main: bytes, helper: bytes) -> Analysis:
    sources = Sources([SourceFile("main.py", main), SourceFile("helper.py", helper)])
    return Analysis(Program(sources, {"main.py": None}))


def test_a_method_of_a_file_that_is_parsed_on_the_way_is_found() -> None:
    analysis = looked_at(MAIN, HELPER)
    (module,) = analysis.modules
    reach = Reachability(analysis.roles)
    assert reach.roots(analysis.modules) == [module.functions["main"]]
    assert [callee.symbol for callee in reach.callees(module.functions["train"])] == ["Shortener.shorten"]
    assert [(each.place.path, each.place.line) for each in analysis.violations("AMP201")] == [("helper.py", 9)]


def test_a_function_of_an_imported_file_is_found() -> None:
    main = b"import helper\n\ndef train(model, loss):\n    loss.backward()\n    helper.shorten(model)\n"
    shorten = b"def shorten(model):\n    model.optimizer.zero_grad()\n"
    analysis = looked_at(main, shorten)
    reach = Reachability(analysis.roles)
    assert [callee.symbol for callee in reach.callees(analysis.modules[0].functions["train"])] == ["shorten"]


def test_a_call_of_a_name_that_nothing_binds_is_not_asked() -> None:
    analysis = looked_at(MAIN, HELPER)
    train = analysis.modules[0].functions["train"]
    Reachability(analysis.roles).roots(analysis.modules)
    asked = {ast.unparse(call.func) for call in analysis.evaluator.root_frame(train).callees}
    assert asked == {"torch.amp.GradScaler", "torch.autocast", "model", "shortener.shorten"}
