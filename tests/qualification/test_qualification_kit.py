"""`verifygate evidence qualification`: what the kit says, how it was counted, and what it does not claim."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from verifygate import __version__
from verifygate.cli import main
from verifygate.quality.qualification import cases, identification, kit

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "tests/static/cases"


def made(out: Path, *options: str, code: int = 0) -> dict[str, Any]:
    assert main(["evidence", "qualification", "--output", str(out), *options]) == code
    found: dict[str, Any] = json.loads((out / "qualification.json").read_text(encoding="utf-8"))
    return found


def read(out: Path, name: str) -> str:
    return (out / name).read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The kit of all rules; nothing is run."""
    out = tmp_path_factory.mktemp("kit") / "whole"
    made(out)
    return out


def test_it_counts_the_cases_of_the_repository(whole: Path) -> None:
    """Bad and good ones of each rule, each with its digest; nothing is said of results that nobody asked for."""
    document = json.loads(read(whole, "qualification.json"))
    counted = {rule["code"]: (rule["bad"], rule["good"]) for rule in document["rules"] if rule["cases"]}
    expected = {
        folder.name: tuple(sum(1 for _ in folder.glob(f"{kind}_*")) for kind in ("bad", "good"))
        for folder in FOLDER.iterdir()
    }
    assert counted == expected
    assert {rule["ran"] for rule in document["rules"]} == {None}
    assert "no case was run: give `--run`" in read(whole, "README.md")


def test_it_says_what_it_is_not(whole: Path) -> None:
    """No certificate; the tests are elsewhere; the limits are those of the documentation, word for word."""
    page = read(whole, "README.md")
    assert "This is no certificate" in page
    assert "no part of an installation" in page
    assert read(whole, "limits.md") == (ROOT / "verifygate/docs/limits.md").read_text(encoding="utf-8")
    for requirement in kit.tool_description().requirements:
        assert requirement.id in read(whole, "requirements.md")
        assert all(test in read(whole, "requirements.md") for test in requirement.tests)


def test_it_fits_its_schema_and_its_tables_are_whole(whole: Path) -> None:
    """Every row has as many cells as its head."""
    schema = json.loads((ROOT / "verifygate/docs/schemas/qualification.schema.json").read_text(encoding="utf-8"))
    jsonschema.validate(json.loads(read(whole, "qualification.json")), schema)
    for name in ("README.md", "confidence.md", "requirements.md", "rules.md"):
        cells = 0
        for line in read(whole, name).splitlines():
            bars = len(re.findall(r"(?<!\\)\|", line)) if line.startswith("|") else 0
            assert bars == cells or not (cells and bars), f"{name}: {line}"
            cells = bars
    for link in re.findall(r"\]\(#(\w+)\)", read(whole, "rules.md")):
        assert f"\n## {link.upper()}\n" in read(whole, "rules.md")


def test_the_same_installation_gives_the_same_bytes(tmp_path: Path) -> None:
    """Also where the cases are run; and a second call replaces the first."""
    for name in ("one", "two", "two"):
        made(tmp_path / name, "--run", "--rule", "AMP501")
    names = sorted(file.name for file in (tmp_path / "one").iterdir())
    assert names == ["README.md", "confidence.md", "limits.md", "qualification.json", "requirements.md", "rules.md"]
    assert [read(tmp_path / "one", name) for name in names] == [read(tmp_path / "two", name) for name in names]


def test_what_was_run_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """All cases and both examples of one rule; and the kit says that it is about that rule alone."""
    document = made(tmp_path, "--run", "--rule", "AMP205")
    (rule,) = document["rules"]
    assert rule["ran"] == len(list((FOLDER / "AMP205").iterdir())) + 2
    assert (rule["failed"], document["selected"]) == ([], True)
    assert "this kit is not complete" in read(tmp_path, "README.md")
    assert capsys.readouterr().out.endswith(": 1 rule, 0 not as it should be\n")


def test_a_case_that_comes_out_otherwise_ends_in_1(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """It is named on the screen, on the first page and beside its rule."""
    broken = tmp_path / "cases"
    shutil.copytree(FOLDER / "AMP501", broken / "AMP501")
    (broken / "AMP501" / "good_more.py").write_text(
        "import torch\n\nscaler = torch.cuda.amp.GradScaler()\n", encoding="utf-8"
    )
    monkeypatch.setattr(cases, "IN_CHECKOUT", broken)
    out = tmp_path / "kit"
    made(out, "--run", "--rule", "AMP501", code=1)
    told = "AMP501/good_more.py: good_more.py:3: AMP501 (certain) is reported"
    assert told in capsys.readouterr().out
    assert f"## Not as it should be\n\n- {told}\n" in read(out, "README.md")
    assert f"- {told}\n" in read(out, "rules.md")


def test_altered_files_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Against what the installation lists: changed, added, or gone."""
    listed = dict(identification.identification().files)
    monkeypatch.setattr(identification, "_listed", lambda: listed)
    document = made(tmp_path / "whole", "--rule", "AMP501")
    assert (document["identification"]["installed"], document["identification"]["altered"]) == ("from a wheel", [])
    changed = {**listed, "scoring.py": "0" * 64, "gone.py": "0" * 64}
    del changed["cli.py"]
    monkeypatch.setattr(identification, "_listed", lambda: changed)
    document = made(tmp_path / "altered", "--rule", "AMP501", code=1)
    assert document["identification"]["altered"] == ["cli.py", "gone.py", "scoring.py"]
    assert "| Altered since | cli.py, gone.py, scoring.py |" in read(tmp_path / "altered", "README.md")


def test_of_a_source_tree_nothing_is_listed(whole: Path) -> None:
    """An editable installation has no digests of the files: it is not called unaltered."""
    told = json.loads(read(whole, "qualification.json"))["identification"]
    assert (told["version"], told["installed"]) == (__version__, identification.FROM_SOURCE)
    assert "| Altered since | not known |" in read(whole, "README.md")


def test_accuracy_is_counted_from_files(whole: Path, tmp_path: Path) -> None:
    """From the primer's judgements, and from labels where they are given; else it is not measured."""
    judgements = json.loads((ROOT / "verifygate/quality/judgements.json").read_text(encoding="utf-8"))
    rules = {each["code"]: each for each in json.loads(read(whole, "qualification.json"))["rules"]}
    for code in ("AMP201", "KEY101"):
        said = [each["judgement"] for each in judgements if each["rule"] == code]
        assert rules[code]["accuracy"]["judged"] == {name: said.count(name) for name in ("true", "harmless", "false")}
    (*_, silent) = sorted(set(rules) - {each["rule"] for each in judgements})
    assert rules[silent]["accuracy"] == {"judged": {}, "labels": None, "accused": None}
    labels = [
        "--labels",
        str(ROOT / "tests/accuracy/cases.json"),
        "--checkouts",
        str(ROOT / "tests/accuracy/checkouts"),
    ]
    (rule,) = made(tmp_path, "--rule", "AMP201", *labels)["rules"]
    assert (rule["accuracy"]["labels"], rule["accuracy"]["accused"]) == ([1, 1], 0)
    assert "1 of 1 labelled faults" in read(tmp_path, "rules.md")


def test_without_cases_none_is_claimed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The documentation's examples are left, and the page says so."""
    monkeypatch.setattr(cases, "IN_CHECKOUT", tmp_path / "absent")
    document = made(tmp_path / "kit", "--run", "--rule", "AMP501")
    assert (document["cases_from"], document["rules"][0]["ran"]) == ("not at hand", 2)
    page = read(tmp_path / "kit", "README.md")
    assert "| Cases | none at hand; 2 examples of the documentation |" in page
    assert "this installation has none" in page


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--rule", "AMP999"], "no rule `AMP999`"),
        (["--labels", "absent.json"], "belong together"),
        (["--labels", "absent.json", "--checkouts", "."], "absent.json: cannot be read"),
    ],
)
def test_wrong_options(options: list[str], told: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """One line, and nothing is written."""
    assert main(["evidence", "qualification", "--output", str(tmp_path / "kit"), *options]) == 2
    captured = capsys.readouterr()
    assert captured.err.count("\n") == 1
    assert told in captured.err
    assert not (tmp_path / "kit").exists()


def test_a_folder_of_somebody_else_is_left_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "notes.txt").write_text("mine", encoding="utf-8")
    assert main(["evidence", "qualification", "--output", str(tmp_path)]) == 2
    assert "notes.txt" in capsys.readouterr().err
    assert [file.name for file in tmp_path.iterdir()] == ["notes.txt"]


@pytest.mark.slow
def test_proofs_are_run_where_they_are_asked_for(tmp_path: Path) -> None:
    """Each holds, or the kit ends in 1."""
    pytest.importorskip("torch")
    document = made(tmp_path, "--prove", "--rule", "AMP201,AMP501")
    assert {rule["code"]: rule["proved"] for rule in document["rules"]}["AMP201"] == "holds"
    assert "here: holds" in read(tmp_path, "rules.md")
