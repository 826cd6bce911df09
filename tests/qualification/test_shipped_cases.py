"""The cases that the kit runs: those of the repository, packed the same way each time, and answered as they ask."""

from __future__ import annotations

import importlib.util
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from verifygate.quality.qualification import cases
from verifygate.quality.qualification.cases import Case, cases_at_hand, examples_of, problem_of, problem_of_example
from verifygate.static.registry import find_rule

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "tests/static/cases"


@pytest.fixture(scope="module")
def pack() -> Callable[[Path, Path], None]:
    """The function that the build packs with."""
    spec = importlib.util.spec_from_file_location("hatch_build", ROOT / "hatch_build.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    packed: Callable[[Path, Path], None] = module.pack
    return packed


def test_what_is_packed_is_what_is_in_the_repository(
    pack: Callable[[Path, Path], None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Case by case, with their digests; and packed again, the same bytes."""
    with cases_at_hand() as here:
        assert here is not None
        there = {case.name: case.digest for case in here}
    for name in ("one.zip", "two.zip"):
        pack(FOLDER, tmp_path / name)
    assert (tmp_path / "one.zip").read_bytes() == (tmp_path / "two.zip").read_bytes()
    monkeypatch.setattr(cases, "PACKED", tmp_path / "one.zip")
    with cases_at_hand() as unpacked:
        assert unpacked is not None
        folder = unpacked[0].path.parents[1]
        assert {case.name: case.digest for case in unpacked} == there
        assert FOLDER not in folder.parents
    assert not folder.exists()
    assert set(there) == {
        f"{case.parent.name}/{case.name}" for case in FOLDER.glob("*/*") if case.name != "__pycache__"
    }


def test_an_installation_without_cases_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """None is something else than no case."""
    monkeypatch.setattr(cases, "IN_CHECKOUT", tmp_path / "absent")
    with cases_at_hand() as found:
        assert found is None


def copied(tmp_path: Path, name: str, change: Callable[[str], str]) -> Case:
    """A case of AMP201 with a changed text."""
    target = tmp_path / "AMP201" / name
    target.parent.mkdir(exist_ok=True)
    shutil.copy(FOLDER / "AMP201" / name, target)
    target.write_text(change(target.read_text(encoding="utf-8")), encoding="utf-8")
    return Case("AMP201", target)


def test_cases_are_answered_as_they_ask(tmp_path: Path) -> None:
    """And an answer that is missing, one too many, or of another certainty is told with its line."""
    mark = "# expect: AMP201"
    assert problem_of(copied(tmp_path, "bad_own_clip.py", str)) == ""
    assert problem_of(copied(tmp_path, "good_own_clip.py", str)) == ""
    assert "AMP201 (certain) is reported" in problem_of(
        copied(tmp_path, "bad_own_clip.py", lambda text: text.replace(mark, "#", 1))
    )
    assert "AMP201 (certain) is not reported" in problem_of(
        copied(tmp_path, "good_own_clip.py", lambda text: f"import torch  {mark}\n{text}")
    )
    assert problem_of(copied(tmp_path, "bad_own_clip.py", lambda _text: "VALUE = 1\n")) == (
        "no line of it says what to report"
    )
    assert "not analysed" in problem_of(copied(tmp_path, "good_own_clip.py", lambda _text: "def broken(:\n"))


def test_examples_are_answered_as_the_documentation_says() -> None:
    """One is reported, the other is not; the wrong way round both are told."""
    examples = examples_of(find_rule("AMP201"))
    assert [problem_of_example("AMP201", title, each) for title, each in examples.items()] == ["", ""]
    assert problem_of_example("AMP201", "Example", examples["Use instead"]) == "it is not reported"
    assert problem_of_example("AMP201", "Use instead", examples["Example"]) == "it is reported"
