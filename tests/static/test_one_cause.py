"""Findings of one cause are one finding with further locations; what stands at each of them keeps its fingerprint."""

from __future__ import annotations

import pytest

from verifygate.base.records import replace
from verifygate.config.rule_selection import RuleSelection
from verifygate.model import Certainty, Finding, Place, Severity
from verifygate.report_comparison import apart
from verifygate.sources.file import SourceFile
from verifygate.sources.tree import Sources
from verifygate.static.causes import agreeing, one_per_cause, told_once
from verifygate.static.engine import analyse

STALE = """
def evaluate(model):
    return {"loss": 1.0, "accuracy": 0.5}

def first(model):
    print(evaluate(model)["acc"])

def second(model):
    print(evaluate(model)["acc"])SUPPRESSED

def third(model):
    return evaluate(model)["acc"]
"""
AMP = "import torch\nscaler = torch.amp.GradScaler()\n"


def key101(text: str, *, merged: bool = True) -> tuple[Finding, ...]:
    sources = Sources([SourceFile("train.py", (AMP + text).encode())])
    return analyse(sources, RuleSelection(select=("KEY101",)), merged=merged).findings


def finding(fingerprint: str, path: str = "train.py", line: int = 1, **more: object) -> Finding:
    given = {
        "rule": "AMP101",
        "name": "backward-in-autocast",
        "column": 1,
        "end_line": line,
        "severity": Severity.MEDIUM,
        "certainty": Certainty.CERTAIN,
        "message": "",
    }
    return Finding(path=path, line=line, fingerprint=fingerprint, **{**given, **more})  # type: ignore[arg-type]


def test_stale_callers_of_one_function_are_one_finding():
    (found,) = key101(STALE.replace("SUPPRESSED", ""))

    assert (found.line, [place.line for place in found.places]) == (8, [11, 14])
    assert found.places[0].text == 'print(evaluate(model)["acc"])'


def test_reads_of_dicts_of_two_functions_have_two_causes():
    second = STALE.replace("SUPPRESSED", "").replace("evaluate(", "validate(")
    for name in ("first", "second", "third"):
        second = second.replace(f"def {name}", f"def {name}_of_validate")

    found = key101(STALE.replace("SUPPRESSED", "") + second)

    assert [len(each.places) for each in found] == [2, 2]


def test_a_suppression_silences_its_own_location():
    (found,) = key101(STALE.replace("SUPPRESSED", "  # verifygate: ignore[KEY101] known"))

    assert [place.line for place in found.places] == [14]


def test_fingerprints_are_those_of_findings_that_stand_alone():
    text = STALE.replace("SUPPRESSED", "")
    alone = key101(text, merged=False)
    (found,) = key101(text)

    assert len(alone) == 3
    assert found.fingerprints == tuple(each.fingerprint for each in alone)


def test_certain_findings_lead():
    likely, certain = finding("a", line=1, certainty=Certainty.LIKELY), finding("b", line=9)

    (found,) = one_per_cause([likely, certain], {"a": "cause", "b": "cause"}, Sources([]))

    assert (found.fingerprint, [place.fingerprint for place in found.places]) == ("b", ["a"])


def test_rules_share_no_cause():
    found = [finding("a"), finding("b", rule="AMP102")]

    assert one_per_cause(found, {"a": "cause", "b": "cause"}, Sources([])) == found


@pytest.mark.parametrize(("second", "count"), [(b"x = 1\n", 1), (b"x = 2\n", 2)])
def test_identical_copies_of_a_file_are_reported_once(second: bytes, count: int):
    sources = Sources([SourceFile("a/train.py", b"x = 1\n"), SourceFile("b/train.py", second)])
    found = [finding("a", "a/train.py"), finding("b", "b/train.py")]

    merged = one_per_cause(found, {}, sources)

    assert len(merged) == count
    assert [place.path for place in merged[0].places] == (["b/train.py"] if count == 1 else [])


def test_remedies_on_one_statement_agree():
    text = """
import torch
from torch.distributed.fsdp import FullyShardedDataParallel as FSDP

def train(net, optimizer, batches):
    model = FSDP(net)
    scaler = torch.cuda.amp.GradScaler()
    for batch in batches:
        optimizer.zero_grad()
        with torch.autocast("cuda", dtype=torch.float16):
            loss = model(batch).mean()
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
"""
    sources = Sources([SourceFile("train.py", text.encode())])

    remedies = {each.rule: each.remedy for each in analyse(sources, RuleSelection()).findings if each.line == 7}

    assert remedies["AMP501"] == f"see AMP307 on this line first: {remedies['AMP307']}"


OLD_NAMES = """
import contextlib, torch
from torch.cuda.amp import GradScaler, autocast

def train(model, batches, half):
    scaler = GradScaler()
    region = autocast if half else contextlib.nullcontext
    with autocast():
        model(batches)
    with torch.cuda.amp.autocast():SUPPRESSED
        model(batches)
    with torch.cpu.amp.autocast(), region(), autocast(enabled=half):
        model(batches)
"""


def amp501(text: str, *, merged: bool = True, path: str = "train.py") -> tuple[Finding, ...]:
    sources = Sources([SourceFile(path, text.replace("SUPPRESSED", "").encode())])
    return analyse(sources, RuleSelection(select=("AMP501",)), merged=merged).findings


def lines_of(found: tuple[Finding, ...]) -> list[tuple[str, str, list[int]]]:
    return [(each.message.split("`")[1], each.certainty.value, [at.line for at in each.locations]) for each in found]


def test_deprecated_names_are_one_finding_for_each_replacement_in_a_file():
    """Another device is another replacement, and what is only likely stands among nothing that is certain."""
    assert lines_of(amp501(OLD_NAMES)) == [
        ("torch.cuda.amp.GradScaler", "certain", [6]),
        ("torch.cuda.amp.autocast", "certain", [8, 10, 12]),
        ("torch.cpu.amp.autocast", "certain", [12]),
        ("torch.cuda.amp.autocast", "likely", [12]),
    ]


def test_deprecated_names_of_two_files_are_two_findings():
    text = OLD_NAMES.replace("SUPPRESSED", "")
    two = Sources([SourceFile("a.py", text.encode()), SourceFile("b.py", f"# b\n{text}".encode())])

    found = analyse(two, RuleSelection(select=("AMP501",))).findings

    assert len(found) == 8
    assert all(place.path == each.path for each in found for place in each.places)


def test_a_report_with_each_use_on_its_own_holds_all_of_a_finding():
    """Fingerprints are the same for each use, so a baseline that was written before still matches."""
    alone = {each.fingerprint for each in amp501(OLD_NAMES, merged=False)}
    found = amp501(OLD_NAMES)

    assert len(alone) == 6
    assert {each for finding in found for each in finding.fingerprints} == alone
    assert all(each.stood_in(alone) for each in found)


def test_of_a_cause_that_gained_a_location_only_that_is_new():
    added = OLD_NAMES.replace("half):", "half):\n    with autocast(False):\n        model(batches)\n", 1)
    before, now = amp501(OLD_NAMES), amp501(added)

    new, stood = apart(now, {each for finding in before for each in finding.fingerprints})

    assert lines_of(tuple(new)) == [("torch.cuda.amp.autocast", "certain", [6])]
    assert new[0].snippet == "with autocast(False):"
    assert {each for finding in stood for each in finding.fingerprints} == {
        each for finding in before for each in finding.fingerprints
    }


def test_a_location_without_a_fingerprint_goes_with_the_one_before_it():
    bare = Place(path="train.py", line=2, end_line=2, text="x")
    other = Place(path="train.py", line=5, end_line=5, text="y", fingerprint="b")
    whole = finding("a", places=(bare, other, replace(bare, line=6)))

    new, stood = whole.apart({"b"})

    assert new is not None
    assert stood is not None
    assert [each.line for each in new.locations] == [1, 2]
    assert [each.line for each in stood.locations] == [5, 6]
    assert whole.apart({"a", "b"}) == (None, whole)
    assert whole.apart(()) == (whole, None)


def test_a_suppression_takes_one_deprecated_use_out():
    found = amp501(OLD_NAMES.replace("SUPPRESSED", "  # verifygate: ignore[AMP501] torch 2.3 here"))

    assert lines_of(found)[1] == ("torch.cuda.amp.autocast", "certain", [8, 12])


def test_a_use_with_another_remedy_stands_alone():
    """What AMP307 says of one scaler is no remedy for the others of the file."""
    sharded = """
import torch
from torch.distributed.fsdp import FullyShardedDataParallel as FSDP

def train(net, optimizer, batches):
    model = FSDP(net)
    scaler = torch.cuda.amp.GradScaler()
    for batch in batches:
        optimizer.zero_grad()
        with torch.autocast("cuda", dtype=torch.float16):
            loss = model(batch).mean()
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()

def others():
    return torch.cuda.amp.GradScaler(), torch.cuda.amp.GradScaler(enabled=False)
"""
    sources = Sources([SourceFile("train.py", sharded.encode())])

    found = [each for each in analyse(sources, RuleSelection()).findings if each.rule == "AMP501"]

    assert [[at.line for at in each.locations] for each in found] == [[7], [17, 17]]
    assert [each.remedy.startswith("see AMP307") for each in found] == [True, False]


def test_another_statement_keeps_its_remedy():
    found = [finding("a", rule="AMP501", line=1, remedy="a"), finding("b", rule="AMP307", line=2, remedy="b")]

    assert agreeing(found, {}) == found


def test_findings_in_files_without_amp_code_are_marked():
    save = "import torch\n\ndef keep(model):\n    torch.save({'model': model}, 'a.pt')\n"
    save += "    return torch.load('a.pt')['modl']\n"
    sources = Sources([SourceFile("keep.py", save.encode()), SourceFile("train.py", (AMP + save).encode())])

    found = analyse(sources, RuleSelection(select=("KEY102",))).findings

    assert [(each.path, each.beside_amp) for each in found] == [("keep.py", True), ("train.py", False)]


def test_what_two_rules_tell_of_one_line_is_told_once():
    """A clip that reads gradients on its way is one fault; a read elsewhere, or one that is surer, stays."""
    clip = finding("a", rule="AMP201", line=3)
    read = finding("b", rule="AMP204", line=3)
    (kept,) = told_once([clip, read])
    assert kept.rule == "AMP201"
    assert [(each.label, each.values) for each in kept.details] == [("also breaks", ("AMP204",))]
    elsewhere = replace(read, line=4)
    assert told_once([clip, elsewhere]) == [clip, elsewhere]
    unsure = replace(clip, certainty=Certainty.LIKELY)
    assert told_once([unsure, read]) == [unsure, read]
