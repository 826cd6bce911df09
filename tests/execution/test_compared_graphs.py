"""`probe --compare-compile`: the operation that a backend computes otherwise is named, and the run is not changed."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from verifygate.execution.compiled import compiled, lines

torch = pytest.importorskip("torch")

PROGRAM = """
import sys, torch
torch.manual_seed(0)
class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.up, self.norm, self.down = torch.nn.Linear(16, 32), torch.nn.BatchNorm1d(32), torch.nn.Linear(32, 4)
        self.drop = torch.nn.Dropout(0.2)
    def forward(self, x):
        h = self.drop(torch.relu(self.norm(self.up(x))))
        h = torch.softmax(h, -1)
        BREAK
        return self.down(h)
def changed(what):
    def backend(graph, inputs):
        for node in graph.graph.nodes:
            if "softmax" in str(node.target):
                original = node.target
                node.target = lambda *given, **named: what(original(*given, **named))
        graph.recompile()
        return graph
    return backend
def refusing(graph, inputs):
    if len(graph.graph.output_node().args[0]) > 1:
        raise RuntimeError("too many results")
    return graph
model = Net()
BACKENDS = {"scaled": changed(lambda t: t * 1.5), "cast": changed(lambda t: t.to(torch.bfloat16)), "refusing": refusing}
run = model if sys.argv[1] == "none" else torch.compile(model, backend=BACKENDS.get(sys.argv[1], sys.argv[1]))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
scaler = torch.amp.GradScaler("cpu", init_scale=256.0)
for _ in range(3):
    optimizer.zero_grad()
    with torch.autocast("cpu", dtype=torch.float16):
        output = run(torch.randn(8, 16))
    loss = torch.nn.functional.mse_loss(output.float(), torch.randn(8, 4))
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
torch.save([*model.state_dict().values(), torch.rand(1), loss.detach()], sys.argv[2])
"""
SOFTMAX = 1 + next(number for number, line in enumerate(PROGRAM.splitlines()) if "torch.softmax" in line)


def probed(folder: Path, backend: str, *options: str, inside: str = "pass") -> tuple[dict[str, Any], list[Any]]:
    """The report, and what the run saved."""
    script, saved = folder / "train.py", folder / "saved.pt"
    script.write_text(PROGRAM.replace("BREAK", inside), encoding="utf-8")
    words = ["probe", "--format", "json", *options, "--", sys.executable, script.name, backend, str(saved)]
    command = [sys.executable, "-m", "verifygate", *words]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr + done.stdout
    return json.loads(done.stdout)["compiled"], torch.load(saved)


@pytest.mark.parametrize("backend", ["aot_eager", pytest.param("inductor", marks=pytest.mark.slow)])
def test_a_right_backend_agrees_and_the_run_is_not_changed(tmp_path: Path, backend: str) -> None:
    report, with_it = probed(tmp_path, backend, "--compare-compile")
    assert report["graphs"] == 1
    (graph,) = report["compared"]
    assert (graph["first"], graph["why_not"]) == (None, "")
    assert graph["results"] == 6
    nothing, without = probed(tmp_path, backend)
    assert nothing is None
    assert all(torch.equal(one, other) for one, other in zip(with_it, without, strict=True))


def test_an_operation_of_another_value_is_named(tmp_path: Path) -> None:
    first = probed(tmp_path, "scaled", "--compare-compile")[0]["compared"][0]["first"]
    assert (first["operator"], first["path"], first["line"]) == ("softmax", "train.py", SOFTMAX)
    assert first["eager"] == first["compiled"]
    assert first["error"] == pytest.approx(0.5, rel=1e-2)


def test_an_operation_of_another_dtype_is_named(tmp_path: Path) -> None:
    first = probed(tmp_path, "cast", "--compare-compile")[0]["compared"][0]["first"]
    assert (first["operator"], first["compiled"]) == ("softmax", "bfloat16")
    assert first["eager"] != "bfloat16"


def test_each_part_of_a_broken_graph_is_compared(tmp_path: Path) -> None:
    report, _ = probed(tmp_path, "aot_eager", "--compare-compile", inside="torch._dynamo.graph_break()")
    assert [graph["number"] for graph in report["compared"]] == [1, 2]
    assert not any(graph["first"] or graph["why_not"] for graph in report["compared"])


def test_what_cannot_be_compared_is_not_measured(tmp_path: Path) -> None:
    assert probed(tmp_path, "none", "--compare-compile")[0]["not_measured"] == "nothing was compiled"
    (graph,) = probed(tmp_path, "refusing", "--compare-compile")[0]["compared"]
    assert graph["why_not"] == "RuntimeError: too many results"


def test_a_run_that_ends_early_has_no_answer() -> None:
    report = compiled([], lambda path: path)
    assert lines(report) == ["compiled against eager: NOT MEASURED: the run did not come to its end"]
