"""What is known of torch by release: the facts that tables rest on, and the versions that proofs ran with."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import json
import sys
import zipfile
from dataclasses import replace
from pathlib import Path

import proved_versions as proofs
import pytest
import release_watch as watch
import torch_facts as facts
from click.testing import CliRunner
from torch_tree import TorchTree

from verifygate.base.errors import UsageError
from verifygate.instrument.cuda import policy

sys.path.insert(0, str(Path(__file__).parents[1] / "twin"))
import moved
from record import Recorded

SITE = Path(importlib.util.find_spec("torch").origin).parents[1]  # type: ignore[union-attr, arg-type]
TORCH = importlib.metadata.version("torch").partition("+")[0]
SCALER = "torch/amp/grad_scaler.py"
SYMBOL = b"\0_ZN2at18UnaryOpFunctorI%sLi1ELi1ELi0EEEJZZZNS0_47_amp_foreach_non_finite_check_and_unscale_cuda_EN3c10\0"
"""As a compiled kernel is named."""


@pytest.fixture(scope="module")
def here() -> dict[str, str]:
    return facts.facts_of(TorchTree(SITE))


@pytest.fixture
def wheel(tmp_path: Path) -> Path:
    """A wheel with the installed torch's files in which one thing of each kind is another."""
    edits = {
        SCALER: ("\n    def step(\n        self, optimizer", "\n    def step(\n        self, the_optimizer"),
        facts.HEADER: ("  _(acos)", "  _(acos_of_old)"),
        facts.NATIVE: ("    MPS: _amp_update_scale_mps_", "    XPU: _amp_update_scale_xpu_"),
        facts.STUBS["torch."]: ("def lerp(\n    input: Tensor,", "def lerp(\n    start: Tensor,"),
        "torch/_functorch/config.py": ('backward_pass_autocast = "same_as_forward"', 'backward_pass_autocast = "off"'),
        "torch/version.py": (f"'{importlib.metadata.version('torch')}'", "'99.1.0'"),
    }
    paths = {*facts.SOURCES, *facts.CALLED, *facts.STUBS.values(), *edits}
    paths |= {f"torch/{name}/__init__.py" for name in ("", "amp", "cpu/amp", "cuda/amp", "nn", "nn/parallel")}
    made = tmp_path / "torch-99.1.0-py3-none-any.whl"
    with zipfile.ZipFile(made, "w") as archive:
        for path in sorted(each.replace("//", "/") for each in paths):
            text = (SITE / path).read_text(encoding="utf-8")
            before, after = edits.get(path, ("", ""))
            assert before in text, path
            archive.writestr(path, text.replace(before, after) if before else text)
        archive.writestr(facts.CUDA, b"".join(SYMBOL % each for each in (b"d", b"f", b"N3c104HalfE")))
    return made


@pytest.mark.skipif(facts.kept()[0] != TORCH, reason="the facts are of another torch")
def test_the_kept_facts_are_those_of_the_installed_torch(here: dict[str, str]) -> None:
    """`make release-watch` compares with them; they are written by `--write`, never by hand."""
    assert facts.moved(facts.kept()[1], here) == []


def test_the_emulation_treats_operators_as_the_header_does(here: dict[str, str]) -> None:
    """The tables of `instrument/cuda/policy.py` are those of ATen/autocast_mode.h: lower, float32, widest."""
    kinds = {"lower_precision_fp": policy.LOWER, "fp32": policy.FLOAT32, "promote": policy.WIDEST}
    kinds |= {"fp32_set_opt_dtype": policy.FLOAT32_OUTPUT, "different_redispatch_signature": policy.APPENDED_DTYPE}
    for kind, table in kinds.items():
        of_header = {name.removeprefix("autocast ") for name, how in here.items() if how == kind}
        lacking = {name for name in of_header if name not in table}
        more = {name for name in table if name not in of_header}
        assert of_header, kind
        assert (kind, lacking, more) == (kind, set(), set())


def test_what_another_torch_changed_is_listed_by_name(here: dict[str, str], wheel: Path) -> None:
    """A signature, a body, a cast, an operator's device, an argument's name, a setting: each, and nothing else."""
    names = {each.name.partition(":")[0] for each in facts.moved(here, facts.facts_of(TorchTree(wheel)))}
    assert names == {
        f"signature {SCALER}",
        f"body {SCALER}",
        "autocast acos",
        "autocast acos_of_old",
        "operator _amp_update_scale_",
        "operator torch.lerp",
        "setting torch/_functorch/config.py",
    }


def test_comments_and_docstrings_move_nothing(tmp_path: Path) -> None:
    """A body is what runs."""
    plain = "def f(a):\n    return a + 1\n"
    told = 'def f(a):\n    """Adds one."""\n    # surely\n    return a  +  1\n'
    other = "def f(a):\n    return a + 2\n"
    digests = []
    for text in (plain, told, other):
        function = facts.ast.parse(text).body[0]
        assert isinstance(function, facts.ast.FunctionDef)
        digests.append(facts._body_digest(function, text.splitlines()))
    assert digests[0] == digests[1] != digests[2]


def test_the_dtypes_that_cuda_unscales_are_read_from_its_library(wheel: Path, tmp_path: Path) -> None:
    """AMP705 rests on it: no bfloat16 there. A build without the library says nothing."""
    assert facts.unscale_dtypes(TorchTree(wheel)) == ("float16", "float32", "float64")
    (tmp_path / "torch/lib").mkdir(parents=True)
    (tmp_path / "torch/version.py").write_text("__version__ = '99.2.0'\n", encoding="utf-8")
    tree = TorchTree(tmp_path)
    assert facts.unscale_dtypes(tree) is None
    (tmp_path / facts.CUDA).write_bytes(b"x" * 5000 + SYMBOL % b"N3c108BFloat16E" + SYMBOL % b"f")
    assert facts.unscale_dtypes(tree) == ("bfloat16", "float32")


def test_a_name_in_two_reads_is_found_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The library is read in parts, and a symbol may lie across two of them."""
    monkeypatch.setattr("torch_tree._CHUNK", 64)
    (tmp_path / "torch").mkdir()
    (tmp_path / "torch/version.py").write_text("__version__ = '99.2.0'\n", encoding="utf-8")
    (tmp_path / "big").write_bytes(b"." * 50 + b"before-word" + b"." * 200)
    assert list(TorchTree(tmp_path).around("big", b"word", 7)) == [b"before-"]


def test_the_command_reads_a_wheel_and_says_what_moved(wheel: Path) -> None:
    """Exit code 1, the facts by name, what becomes of AMP705, and what did not run."""
    ended = CliRunner().invoke(watch.main, ["--wheel", str(wheel)], standalone_mode=False)
    assert ended.return_value == 1
    assert f"torch {facts.kept()[0]} -> 99.1.0" in ended.output
    assert "gone     autocast acos: was fp32" in ended.output
    assert "float16, float32, float64: AMP705 stands" in ended.output
    assert "proofs and twin programs did not run" in ended.output


def test_a_release_with_a_bfloat16_kernel_ends_amp705(wheel: Path) -> None:
    """The watch says so, and so it is not missed."""
    with zipfile.ZipFile(wheel, "a") as archive:
        text = archive.read(facts.CUDA) + SYMBOL % b"N3c108BFloat16E"
    more = wheel.with_name("torch-99.2.0-py3-none-any.whl")
    with zipfile.ZipFile(wheel) as before, zipfile.ZipFile(more, "w") as after:
        for name in before.namelist():
            after.writestr(name, text if name == facts.CUDA else before.read(name))
    ended = CliRunner().invoke(watch.main, ["--wheel", str(more)], standalone_mode=False)
    assert "AMP705 IS FALSE" in ended.output


def test_what_holds_no_torch_is_refused(tmp_path: Path) -> None:
    """One line, with the remedy."""
    (tmp_path / "a.whl").write_bytes(b"no archive")
    for place in (tmp_path, tmp_path / "a.whl"):
        with pytest.raises(UsageError, match="give a"):
            TorchTree(place)
    with pytest.raises(UsageError, match="names no torch"):
        CliRunner().invoke(watch.main, [], standalone_mode=False, catch_exceptions=False)


def test_the_proof_of_every_rule_ran_with_the_pinned_torch() -> None:
    """`make release-watch` writes the versions; an example that changed has none until its proof ran again."""
    rows = proofs.kept()
    pinned = (Path(__file__).parents[2] / "constraints.txt").read_text(encoding="utf-8")
    torch = next(line.partition("==")[2] for line in pinned.splitlines() if line.startswith("torch=="))
    ran = {code: proofs.proved_with(code, claim, rows) for code, claim in proofs.claims().items()}
    assert [code for code, found in ran.items() if not any(each["torch"] == torch for each in found)] == []
    assert "lightning" in ran["AMP601"][0], "the version of a framework that the examples import"


def test_a_changed_example_has_not_been_proved() -> None:
    """With any version: neither another example, nor another method."""
    code, claim = next(iter(proofs.claims().items()))
    rows = proofs.kept()
    assert proofs.proved_with(code, claim, rows)
    assert proofs.proved_with(code, replace(claim, bad=f"{claim.bad}\n"), rows) == []
    assert proofs.proved_with(code, replace(claim, method="raised-error"), rows) == []


def test_proofs_of_another_version_are_kept_beside_those_that_ran(monkeypatch: pytest.MonkeyPatch) -> None:
    """A second torch adds a row, and the order is that of versions."""
    claims = proofs.claims()
    code = next(iter(claims))
    written = json.loads(proofs.written({code: {"torch": "2.9.1"}}))
    assert [each["torch"] for each in written[code]["versions"]] == [
        "2.9.1",
        *(v["torch"] for v in proofs.kept()[code]["versions"]),
    ]
    assert (
        proofs.words([{"accelerate": "1.0", "torch": "2.9.1"}, {"torch": "2.13.0"}])
        == "torch 2.9.1, accelerate 1.0; torch 2.13.0"
    )


def test_twin_programs_that_run_otherwise_are_named() -> None:
    """Another event, another number of events, another end; a program that one side lacks is no difference."""
    before = {"a": Recorded("1", [[1], [2]]), "b": Recorded("1", [[1]]), "c": Recorded("1"), "d": Recorded("1")}
    now = {
        "a": Recorded("2", [[1], [3]]),
        "b": Recorded("2", [[1], [2]]),
        "c": Recorded("2", ended="E"),
        "e": Recorded("2"),
    }
    assert moved.moved(before, now) == [
        "a: other events, the first is number 1: [3]",
        "b: other events, their number",
        "c: E (kept: ran to its end)",
    ]
