"""AMP302's fix: where it is offered, how safe it says it is, and where there is none."""

from __future__ import annotations

import pytest
from scanning import scan

from verifygate.fix import repaired
from verifygate.fix.assess import assessed
from verifygate.fix.draft import Project
from verifygate.model import Applicability
from verifygate.sources.file import SourceFile
from verifygate.sources.tree import Sources

STEPS = """
        optimizer.zero_grad()
        scaler.scale(model(batch)).backward()
        scaler.step(optimizer)
        scaler.update()
"""
MAKE = '    scaler = torch.amp.GradScaler("cuda")\n'
LOAD = '    checkpoint = torch.load("last.pt")\n    optimizer.load_state_dict(checkpoint["optimizer"])\n'
LOOP = f"    for batch in batches:{STEPS}"
SAVE = '    torch.save({"optimizer": optimizer.state_dict()}, "last.pt")\n'
MAIN = "import torch\n\n\ndef main(model, optimizer, batches, amp, path):\n"

CLASS = """import torch


class Trainer:
    def __init__(self, model, optimizer, resume):
        self.model, self.optimizer = model, optimizer
{first}
    def begin(self):
        self.resume()

    def resume(self):
        checkpoint = torch.load("last.pt")
        self.optimizer.load_state_dict(checkpoint["optimizer"])

    def run(self, batches):
        for batch in batches:
            self.optimizer.zero_grad()
            self.scaler.scale(self.model(batch)).backward()
            self.scaler.step(self.optimizer)
            self.scaler.update()
        torch.save({{"optimizer": self.optimizer.state_dict()}}, "last.pt")
"""
SELF = '        self.scaler = torch.amp.GradScaler("cuda")\n'


def judged(files: dict[str, str]) -> list[Applicability | str]:
    """How safe the fix of each finding of AMP302 is, or why there is none."""
    sources = Sources([SourceFile(path, text.encode()) for path, text in files.items()])
    found = [each for each in scan(sources).findings if each.rule == "AMP302"]
    told: list[Applicability | str] = []
    for finding in found:
        built, reasons = assessed([finding], Project(sources))
        told.append(built.get(finding) or reasons[finding])
    return told


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (MAIN + MAKE + LOAD + LOOP + SAVE, Applicability.SAFE),
        (MAIN + MAKE + LOOP + SAVE, Applicability.UNSAFE),
        (MAIN + LOAD + MAKE + LOOP + SAVE, "no scaler that is surely made before is at hand in `main`"),
        (
            MAIN + MAKE.replace("torch.amp", "None if amp else torch.amp") + LOAD + LOOP + SAVE,
            "no scaler that is surely made before is at hand in `main`",
        ),
        (
            MAIN + MAKE + LOAD.replace("checkpoint[", 'torch.load("last.pt")[') + LOOP + SAVE,
            "the loaded checkpoint is not assigned to a variable",
        ),
        (
            MAIN + MAKE + LOAD + LOOP + SAVE.replace('"optimizer"', "path"),
            "the key of the optimizer's state is not a string literal",
        ),
        (
            MAIN + MAKE + LOAD + LOOP + SAVE.replace("optimizer.state_dict()", "[optimizer.state_dict()]"),
            "the state is not stored in a dict literal",
        ),
        (
            MAIN + MAKE + MAKE.replace("scaler", "other") + LOAD + LOOP + SAVE,
            "several scalers are at hand in `main`",
        ),
        (CLASS.format(first=SELF), Applicability.SAFE),
        (CLASS.format(first=f"{SELF}        self.begin()\n"), Applicability.SAFE),
        (
            CLASS.format(first=f"        self.begin()\n{SELF}"),
            "no scaler that is surely made before is at hand in `resume`",
        ),
        (
            CLASS.format(first=f"        if resume:\n    {SELF}"),
            "no scaler that is surely made before is at hand in `run`",
        ),
        (
            CLASS.format(first=f"        self.scaler = None\n{SELF}"),
            "no scaler that is surely made before is at hand in `run`",
        ),
    ],
    ids=[
        "plain",
        "nothing loads it",
        "loaded before the scaler is made",
        "made under a condition",
        "no variable",
        "computed key",
        "in a list",
        "two scalers",
        "attribute",
        "resumed after it is made",
        "resumed before it is made",
        "attribute made under a condition",
        "attribute bound twice",
    ],
)
def test_the_fix_is_offered_where_the_scaler_is_surely_there(text: str, told: Applicability | str):
    """A scaler that may be missing, or come later, or be another one, is nothing to write a fix with."""
    assert judged({"train.py": text}) == [told]


def test_a_checkpoint_that_another_file_loads_is_left():
    """Saving and loading are changed together, and a fix is one of one file."""
    main = MAIN + MAKE + "    resume(optimizer)\n" + LOOP + SAVE
    files = {"train.py": main.replace("import torch", "import torch\nfrom resuming import resume")}
    files["resuming.py"] = f"import torch\n\n\ndef resume(optimizer):\n{LOAD}"

    assert judged(files) == ["`resuming.py` loads optimizers too: saving and loading have to be changed together"]


def test_a_stranger_that_loads_its_own_checkpoint_does_not_matter():
    """Two scripts in one folder have nothing to do with each other."""
    text = MAIN + MAKE + LOAD + LOOP + SAVE

    assert judged({"one.py": text, "two.py": text}) == [Applicability.SAFE, Applicability.SAFE]


def test_every_checkpoint_and_every_load_of_the_file_is_fixed():
    """One state that is kept would hide the others from the rule, so none is left."""
    text = MAIN + MAKE + LOAD + LOOP + SAVE + SAVE.replace("last.pt", "best.pt")
    sources = Sources([SourceFile("train.py", text.encode())])

    repair = repaired(sources, scan, ["AMP302"])

    ((_, fixed),) = repair.changed
    assert fixed.text.count('"scaler": scaler.state_dict()}') == 2
    assert len(repair.fixed) == 2
