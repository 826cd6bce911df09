"""Every rule shows its harm on this machine, or says why it cannot; and a claim without harm is not proved."""

from __future__ import annotations

import re
import sys
import venv
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from verifygate.base.errors import UsageError, VerifygateError
from verifygate.commands import cli
from verifygate.proof import METHODS, Claim, Proof, claim_from, prove, table
from verifygate.proof.method import Setting
from verifygate.proof.prove import run_jobs
from verifygate.static.registry import load_rules

PYTHON = Path(sys.executable)
CLAIMING = {code: loaded for code, loaded in load_rules().items() if loaded.rule.proof}
GOOD = """import torch


def train(model, loss_fn, optimizer, scaler, batches, device):
    for inputs, targets in batches:
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast(device, dtype=torch.float16):
            loss = loss_fn(model(inputs), targets)
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
"""


@pytest.mark.parametrize("code", load_rules())
def test_each_rule_has_a_proof_or_a_reason(code: str):
    """One of the two, and the method exists."""
    rule = load_rules()[code].rule

    assert bool(rule.proof) != bool(rule.no_proof)
    assert not rule.proof or rule.proof in METHODS


@pytest.mark.parametrize("code", [code for code in CLAIMING if not code.startswith("KEY")])
def test_what_was_seen_is_said_of_a_version_of_torch(code: str):
    """The page names the torch on which its rule's harm was seen; what Python itself raises needs none."""
    assert re.search(r"\b2\.\d+\b", CLAIMING[code].sections["What happens at run time"])


def of_rule(code: str) -> Claim:
    loaded = CLAIMING[code]
    sections = loaded.sections
    return claim_from(code, loaded.rule.name, loaded.rule.proof, sections["Example"], sections["Use instead"])


def halves_of_the_harm() -> list[str]:
    """The example of AMP307, with the norm or the skip of what is right."""
    good = of_rule("AMP307").good
    return [
        good.replace("model.clip_grad_norm_(1.0)", "torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)"),
        good.replace("ShardedGradScaler(", "torch.amp.GradScaler("),
    ]


def of_dtensors() -> str:
    """The example of AMP307 with what `fully_shard` makes."""
    mesh = "torch.distributed.init_device_mesh(device, (2,))"
    return (
        of_rule("AMP307")
        .bad.replace("import FullyShardedDataParallel", "import fully_shard")
        .replace(
            "model = FullyShardedDataParallel(model, device_id=torch.device(device))",
            f"fully_shard(model, mesh={mesh})",
        )
    )


@pytest.fixture(scope="module")
def proofs() -> dict[str, list[Proof]]:
    """Every claim that a test asks about, proved in one child: torch is imported once, and once by each rank."""
    sharded = of_rule("AMP307")
    broken = GOOD.replace(
        "    for inputs", "    if torch.distributed.get_rank() == 1:\n        batches[99]\n    for inputs"
    )
    claims = {
        "claimed": [of_rule(code) for code in CLAIMING],
        "harmless": [Claim("X1", method, method, GOOD, GOOD + "\n") for method in METHODS],
        "remedy": [Claim("X1", "remedy", "raised-error", GOOD, GOOD.replace("1.0)", "1.0, maximum=2)"))],
        "half": [replace(sharded, bad=half) for half in halves_of_the_harm()],
        "dtensors": [replace(sharded, good=of_dtensors()), replace(sharded, bad=of_dtensors())],
        "one rank": [Claim("X1", "one rank", "rank-agreement", broken, GOOD)],
    }
    found = iter(prove([claim for some in claims.values() for claim in some], PYTHON))
    return {name: [next(found) for _ in some] for name, some in claims.items()}


@pytest.mark.slow
def test_every_claimed_proof_holds(proofs: dict[str, list[Proof]]):
    """The harm of each rule is measured, and its remedy is free of it."""
    assert len(proofs["claimed"]) == len(CLAIMING)
    assert not [table(proof) for proof in proofs["claimed"] if not proof.proved]


@pytest.mark.slow
def test_no_method_proves_harm_where_there_is_none(proofs: dict[str, list[Proof]]):
    """The same right code on both sides is NOT PROVED by every method."""
    assert len(proofs["harmless"]) == len(METHODS)
    assert not [table(proof) for proof in proofs["harmless"] if proof.proved]
    assert all("NOT PROVED" in table(proof) for proof in proofs["harmless"])


@pytest.mark.slow
def test_a_remedy_that_raises_proves_nothing(proofs: dict[str, list[Proof]]):
    """What to use instead must work."""
    (proof,) = proofs["remedy"]
    assert not proof.proved
    assert "what to use instead raises TypeError" in table(proof)


FORWARD = "loss = loss_fn(model(inputs), targets)"
TIMED = (
    "import time\n"
    + GOOD.replace(
        f"            {FORWARD}",
        f"            start = time.{{0}}()\n            {FORWARD}{{1}}\n            took = time.{{0}}() - start",
    )
    + "    return took\n"
)
WAITING = "\n            torch.cuda.synchronize()"
OF_LOADER = GOOD.replace("in batches:", "in torch.utils.data.DataLoader(batches, batch_size=None, pin_memory={}):")
MOVING = OF_LOADER.replace("optimizer.zero", "inputs = inputs.to(device{}).to(device)\n        optimizer.zero", 1)
COUNTED = {
    "plain": GOOD,
    "reading": GOOD.replace("        scaler.update()", "        scaler.update()\n        float(loss)"),
}
QUEUED = {
    "plain": GOOD,
    "loaded": OF_LOADER.format(False),
    "pageable": MOVING.format(False, ""),
    "pageable, asked": MOVING.format(False, ", non_blocking=True"),
    "pinned": MOVING.format(True, ""),
    "pinned, asked": MOVING.format(True, ", non_blocking=True"),
    "synchronized": f"{GOOD}        torch.cuda.synchronize()\n",
    "emptied": f"{GOOD}        torch.cuda.empty_cache()\n",
    "read": f"{GOOD}        float(loss)\n",
}
CLOCKED = {
    f"{clock}{', waiting' if wait else ''}": TIMED.format(clock, wait)
    for clock in ("perf_counter", "time")
    for wait in ("", WAITING)
}


@pytest.fixture(scope="module")
def seen() -> dict[str, dict[str, dict[str, Any]]]:
    """What the harness saw in each of the programs above, all in one child."""
    asked = [
        ("counted", COUNTED, Setting(counted=True)),
        ("queued", QUEUED, Setting(queued=True)),
        ("clocked", CLOCKED, Setting(queued=True, counted=True)),
    ]
    jobs = [
        {"source": source, "name": name, **setting._asdict()}
        for _, sources, setting in asked
        for name, source in sources.items()
    ]
    runs = iter(run_jobs(jobs, PYTHON))
    return {kind: {name: next(runs) for name in sources} for kind, sources, _ in asked}


@pytest.mark.slow
def test_what_the_recorder_asks_of_torch_is_not_counted(seen: dict[str, dict[str, dict[str, Any]]]):
    """A plain loop reads one number on the host in each step: whether the scaler found an inf."""
    plain, reading = seen["counted"].values()

    assert plain["updates"]
    assert plain["reads"] == len(plain["updates"])
    assert reading["reads"] == 2 * plain["reads"]
    assert reading["operations"] == plain["operations"] + plain["reads"]


@pytest.mark.slow
def test_the_host_waits_for_the_queue_where_cuda_makes_it_wait(seen: dict[str, dict[str, dict[str, Any]]]):
    """At a copy, unless it is of a pinned batch and asked to run beside; at each call that empties the queue."""
    runs = seen["queued"]
    steps = len(runs["plain"]["updates"])
    assert steps
    assert [run["error"] for run in runs.values()] == [None] * len(runs)
    assert {name: run["waits"] / steps for name, run in runs.items()} == {
        "plain": 1,  # whether the scaler found an inf
        "loaded": 1,
        "pageable": 2,
        "pageable, asked": 2,
        "pinned": 2,
        "pinned, asked": 1,
        "synchronized": 2,
        "emptied": 2,
        "read": 2,
    }


@pytest.mark.slow
def test_the_clock_beside_the_queue_stands_still_until_the_host_waits(seen: dict[str, dict[str, dict[str, Any]]]):
    """A clock tells the operations that the host waited for, and nothing else; the harness has the machine's own."""
    runs = list(seen["clocked"].values())
    assert [float(run["told"]) for run in runs[::2]] == [0, 0]
    assert runs[1]["told"] == runs[3]["told"]
    assert 0 < float(runs[1]["told"]) < runs[1]["operations"] * 1e-3 / len(runs[1]["updates"])


@pytest.mark.slow
def test_half_of_the_harm_to_ranks_is_no_proof_of_all_of_it(proofs: dict[str, list[Proof]]):
    """AMP307 claims a wrong norm and a wrong skip: an example with one of them does not prove it."""
    assert of_rule("AMP307").good not in halves_of_the_harm()
    assert [proof.problem for proof in proofs["half"]] == ["", ""]
    assert not [table(proof) for proof in proofs["half"] if proof.proved]


@pytest.mark.slow
def test_what_fully_shard_makes_needs_neither_remedy(proofs: dict[str, list[Proof]]):
    """AMP307 leaves FSDP2 alone: of DTensors, torch's own scaler and clip ask all ranks."""
    of_parts, alike = proofs["dtensors"]
    assert "fully_shard(model, mesh=" in of_dtensors()
    assert of_parts.proved
    assert not alike.proved
    assert alike.judgement.rows
    assert all(of_dtensor == good for _, of_dtensor, good in alike.judgement.rows)


@pytest.mark.slow
def test_ranks_that_break_off_say_why():
    """What one of them said last, in the one line that there is."""
    killing = GOOD.replace("    for inputs", "    raise SystemExit('no such mesh')\n    for inputs")

    with pytest.raises(VerifygateError, match="no such mesh"):
        run_jobs([{"source": killing, "name": "killing", **Setting(ranks=2)._asdict()}], PYTHON)


@pytest.mark.slow
def test_what_happens_to_a_rank_on_its_way_out_costs_no_answer():
    """Threads that gloo has left behind abort the process at times, when all that it saw is written down."""
    ends = "__import__('atexit').register(__import__('os').abort)"
    aborting = GOOD.replace("    for inputs", f"    {ends}\n    for inputs")
    assert aborting != GOOD

    (seen,) = run_jobs([{"source": aborting, "name": "aborting", **Setting(ranks=2)._asdict()}], PYTHON)

    assert seen["error"] is None


@pytest.mark.slow
def test_an_example_that_one_rank_alone_cannot_run_is_told(proofs: dict[str, list[Proof]]):
    """An error on any of the ranks is the example's."""
    (proof,) = proofs["one rank"]
    assert "the example raises IndexError" in table(proof)


def test_without_gloo_the_command_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """One line, where the proof takes ranks and this torch has nothing that they could talk over."""
    venv.create(tmp_path / "bare", with_pip=False)
    (site,) = (tmp_path / "bare").glob("lib/python*/site-packages")
    for name, code in {
        "__init__": "def set_num_threads(count): pass",
        "_dynamo": "",
        "distributed": "def is_available(): return False",
    }.items():
        (site / "torch").mkdir(exist_ok=True)
        (site / "torch" / f"{name}.py").write_text(f"{code}\n", encoding="utf-8")
    (tmp_path / "verifygate.toml").write_text('[execution]\ninterpreter = "bare/bin/python"\n', encoding="utf-8")
    monkeypatch.chdir(tmp_path)

    with pytest.raises(UsageError, match=r"over gloo, and this torch has no torch\.distributed"):
        CliRunner().invoke(cli, ["explain", "AMP307", "--prove"], standalone_mode=False, catch_exceptions=False)


def test_without_torch_the_command_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """One line with the way to install it, before anything is claimed."""
    venv.create(tmp_path / "bare", with_pip=False)
    (tmp_path / "verifygate.toml").write_text('[execution]\ninterpreter = "bare/bin/python"\n', encoding="utf-8")
    monkeypatch.chdir(tmp_path)

    with pytest.raises(UsageError, match=r"torch.*pip install"):
        CliRunner().invoke(cli, ["explain", "AMP201", "--prove"], standalone_mode=False, catch_exceptions=False)


def test_a_rule_without_a_proof_says_why():
    """A note is not measured, and the command does not pretend."""
    with pytest.raises(UsageError, match="a note"):
        CliRunner().invoke(cli, ["explain", "AMP503", "--prove"], standalone_mode=False, catch_exceptions=False)
