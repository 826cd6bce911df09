"""How the work of a rule grows with the program: counted in calls, for a program and for one of twice its size."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from verifygate.config.rule_selection import RuleSelection
from verifygate.sources.discovery import read_sources
from verifygate.sources.file import SourceFile
from verifygate.sources.suppressions import directives
from verifygate.sources.tree import Sources
from verifygate.static.analysis import Analysis, memoised
from verifygate.static.contract.build import precision_contract
from verifygate.static.contract.byte_facts import byte_facts
from verifygate.static.engine import analyse
from verifygate.static.facts.module_dtypes import ModuleDtypes
from verifygate.static.facts.scaler_regions import ScalerRegions
from verifygate.static.prefilter import Prefilter
from verifygate.static.registry import load_rules
from verifygate.static.silencing import suppressed
from verifygate.static.symbols.program import Program

LOOP = """

def train_{number}(model, optimizer, batches):
    scaler = torch.amp.GradScaler("cuda")
    for batch in batches:
        optimizer.zero_grad()
        with torch.autocast("cuda", dtype=torch.float16):
            loss = model(batch).mean()
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
"""


SAVING = """
    torch.save({{"optimizer": optimizer.state_dict(), "scaler": scaler.state_dict()}}, "{number}.pt")
"""


def analysis_of(loops: int, folder: Path, loop: str) -> Analysis:
    """The analysis of a program of so many loops, each with a scaler of its own."""
    folder.mkdir()
    (folder / "train.py").write_text("import torch\n" + "".join(loop.format(number=each) for each in range(loops)))
    sources = read_sources(folder, ["."])
    return Analysis(Program(sources, Prefilter(sources, load_rules().values()).named()))


def calls_of(code: str, loops: int, folder: Path, loop: str = LOOP) -> int:
    """The calls that a rule makes over so many loops, once shared facts are known."""
    analysis = analysis_of(loops, folder, loop)
    check = load_rules()[code].check
    list(check(analysis))
    return calls_in(lambda: list(check(analysis)))


def calls_in(action: Callable[[], object]) -> int:
    """How many functions of Python something calls."""
    count = 0

    def counting(_frame: object, event: str, _arg: object) -> None:
        nonlocal count
        count += event == "call"

    sys.setprofile(counting)
    try:
        action()
    finally:
        sys.setprofile(None)
    return count


def lines_in(action: Callable[[], object]) -> int:
    """How many lines of Python something runs, those of comprehensions again in each turn."""
    count = 0

    def counting(_frame: FrameType, event: str, _arg: Any) -> Callable[[FrameType, str, Any], Any]:
        nonlocal count
        count += event == "line"
        return counting

    before = sys.gettrace()
    sys.settrace(counting)
    try:
        action()
    finally:
        sys.settrace(before)
    return count


@pytest.mark.parametrize("code", ["AMP216", "AMP301"])
def test_calls_of_scalers_are_not_compared_with_all_others(code: str, tmp_path: Path):
    def lines(loops: int) -> int:
        analysis = analysis_of(loops, tmp_path / str(loops), LOOP)
        check = load_rules()[code].check
        list(check(analysis))
        return lines_in(lambda: list(check(analysis)))

    few, many = map(lines, (40, 80))

    assert many < 2.2 * few


def files_of(count: int, folder: Path, loop: str) -> Sources:
    """So many files of a loop each."""
    folder.mkdir()
    for number in range(count):
        (folder / f"train_{number}.py").write_text("import torch\n" + loop.format(number=number))
    return read_sources(folder, ["."])


def test_a_program_is_not_compared_with_the_facts_of_all_others(tmp_path: Path):
    def lines(files: int) -> int:
        sources = files_of(files, tmp_path / str(files), LOOP)
        analysis = Analysis(Program(sources, Prefilter(sources, load_rules().values()).named()))
        scanned = byte_facts(sources)
        assert sum(len(row.declared) for row in precision_contract(analysis, scanned).rows) > files
        return lines_in(lambda: precision_contract(analysis, scanned))

    few, many = map(lines, (40, 80))

    assert many < 2.2 * few


def test_a_suppression_is_compared_with_what_its_rule_finds_in_its_file(tmp_path: Path):
    clip = "torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)"
    plain = LOOP.replace("scaler.step", f"{clip}\n        scaler.step")
    silenced = plain.replace(clip, f"{clip}  # verifygate: ignore[AMP201] as in the paper")

    def lines(files: int) -> int:
        found = analyse(files_of(files, tmp_path / str(files), plain), RuleSelection(select=("AMP201",)), merged=False)
        with_comments = files_of(files, tmp_path / f"{files}-silenced", silenced)
        written = [each for file in with_comments for each in directives(file, ("AMP201",))]
        assert len(found.findings) == len(written) == files
        return lines_in(lambda: suppressed(list(found.findings), written, {"AMP201"}))

    few, many = map(lines, (20, 40))

    assert many < 2.2 * few


MADE = "scaler_{number} = torch.cuda.amp.GradScaler()  # verifygate: ignore[AMP501] as before\n"


@pytest.mark.parametrize("code", ["AMP301", "AMP501"])
def test_a_body_is_not_read_again_for_each_of_its_statements(code: str, tmp_path: Path):
    def lines(count: int) -> int:
        analysis = analysis_of(count, tmp_path / str(count), MADE)
        check = load_rules()[code].check
        list(check(analysis))
        return lines_in(lambda: list(check(analysis)))

    few, many = map(lines, (100, 200))

    assert many < 2.2 * few


def test_comments_of_a_file_are_not_compared_with_all_its_findings(tmp_path: Path):
    def lines(count: int) -> int:
        file = analysis_of(count, tmp_path / str(count), MADE).program.sources.files[0]
        bare = Sources([SourceFile(file.path, file.data.replace(b"verifygate: ignore", b"as it stands"))])
        found = analyse(bare, RuleSelection(select=("AMP501",)), merged=False).findings
        written = list(directives(file, ("AMP501",)))
        assert len(found) == len(written) == count
        assert not suppressed(list(found), written, {"AMP501"})[0]
        return lines_in(lambda: suppressed(list(found), written, {"AMP501"}))

    few, many = map(lines, (100, 200))

    assert many < 2.2 * few


@pytest.mark.parametrize("code", ["AMP302", "AMP304"])
def test_scalers_are_not_compared_with_each_save_or_with_each_other_scaler(code: str, tmp_path: Path):
    few, many = (calls_of(code, loops, tmp_path / str(loops), LOOP + SAVING) for loops in (20, 40))

    assert many < 2.5 * few


def test_scalers_are_not_compared_with_each_region(tmp_path: Path):
    def calls(loops: int) -> int:
        analysis = analysis_of(loops, tmp_path / str(loops), LOOP)
        for scaler in analysis.scaler_allocations:
            assert len(analysis.scaler_regions.uses(scaler)[0].regions) == 1
        facts = (analysis.written_regions, analysis.condition_texts, analysis.call_graph, analysis.import_graph)
        anew = ScalerRegions(*facts)
        return calls_in(lambda: [anew.uses(scaler) for scaler in analysis.scaler_allocations])

    few, many = map(calls, (20, 40))

    assert many < 2.5 * few


def test_what_several_rules_ask_for_is_worked_out_once(tmp_path: Path):
    analysis = analysis_of(2, tmp_path / "once", LOOP)
    asked = []

    @memoised
    def loops(analysis: Analysis, least: int) -> Iterator[int]:
        asked.append(least)
        yield from range(least, len(analysis.scaler_allocations))

    assert loops(analysis, 0) == loops(analysis, 0) == (0, 1)
    assert loops(analysis, 1) == (1,)
    assert asked == [0, 1]


def test_scalers_that_never_step_together_are_not_compared_one_by_one(tmp_path: Path):
    few, many = (calls_of("AMP302", loops, tmp_path / str(loops)) for loops in (20, 40))

    assert many < 2.5 * few


REBOUND = """
import torch


def train(model, batches):
    if batches:
        model.half()
{rebound}
    optimizer = torch.optim.Adam(model.parameters())
    scaler = torch.amp.GradScaler("cuda")
    for batch in batches:
        scaler.scale(model(batch).mean()).backward()
        scaler.step(optimizer)
        scaler.update()
"""


def test_a_name_that_is_bound_again_and_again_to_what_is_made_of_it_has_an_end(tmp_path: Path):
    """Each of the bindings leads to all of them: without a bound, the steps' number to the power of the depth."""
    lines = "".join(
        f"    if len(batches) > {number}:\n        model = torch.nn.Sequential(model, model)\n" for number in range(12)
    )
    (tmp_path / "train.py").write_text(REBOUND.format(rebound=lines))
    sources = read_sources(tmp_path, ["."])
    rules = load_rules()
    analysis = Analysis(Program(sources, Prefilter(sources, rules.values()).named()))
    looked_at = 0
    whole = ModuleDtypes.of

    def counting(self: ModuleDtypes, *given: object) -> object:
        nonlocal looked_at
        looked_at += 1
        return whole(self, *given)  # type: ignore[arg-type]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ModuleDtypes, "of", counting)
        list(rules["AMP401"].check(analysis))

    assert 0 < looked_at < 20_000


DEFAULTS = """
import torch


def default(value, other):
    if value is not None:
        return value
    return other() if callable(other) else other


def train(model, batches, given=None):
    optimizer = torch.optim.Adam(model.parameters())
    scaler = torch.amp.GradScaler("cuda")
{defaults}
    for batch in batches:
        loss = default(given, model)(batch)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
"""


def test_what_a_call_runs_that_another_call_gives_has_an_end(tmp_path: Path):
    """A call may run what it was given, and be given what a call gives: each level asks for all those below it."""
    defaults = "    given = default(given, default(given, model))\n" * 6
    (tmp_path / "train.py").write_text(DEFAULTS.format(defaults=defaults))
    sources = read_sources(tmp_path, ["."])
    rules = load_rules()
    analysis = Analysis(Program(sources, Prefilter(sources, rules.values()).named()))
    count = 0

    def counting(_frame: object, event: str, _arg: object) -> None:
        nonlocal count
        count += event == "call"
        assert count < 10_000_000

    sys.setprofile(counting)
    try:
        list(rules["AMP201"].check(analysis))
    finally:
        sys.setprofile(None)
