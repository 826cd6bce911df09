"""What the watch for inf and NaN costs: the reference's training step with and without it, by CPU time.

    python tests/execution/bench_numerics.py [ROUNDS [reference|vit]]

`vit` is a small vision transformer in bfloat16, whose many small operations cost a watch most. Two processes train
the same thing, one under the recorder alone. Each line is a ratio of steps of one kind: the median over rounds of (with
the watch / recorder alone).
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).parents[2]
WARM_UP, STEPS = 8, 5


def small_vit() -> Callable[[], None]:
    """A step of four layers of width 64 over 8 images of 17 patches."""
    import torch
    from torch import nn

    torch.manual_seed(1)
    layer = nn.TransformerEncoderLayer(64, 4, 128, batch_first=True, dropout=0.0)
    model = nn.Sequential(nn.Linear(48, 64), nn.TransformerEncoder(layer, 4), nn.LayerNorm(64), nn.Linear(64, 10))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    images, labels = torch.randn(8, 17, 48), torch.randint(10, (8,))

    def step() -> None:
        optimizer.zero_grad()
        with torch.autocast("cpu", dtype=torch.bfloat16):
            loss = nn.functional.cross_entropy(model(images).mean(1).float(), labels)
        loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()

    return step


def train(*, watched: bool, folder: str, workload: str) -> None:
    """Make STEPS steps for `plain` on standard input, one watched step for `watched`; answer with seconds of a step."""
    sys.path.insert(0, str(ROOT))
    import torch

    from verifygate.instrument.numerics.bad_steps import BadSteps
    from verifygate.instrument.recorder import install as recorder

    recording = recorder.install({"folder": folder, "root": str(ROOT)}, print)
    from reference_impl.workload import build

    torch.set_num_threads(1)
    step = small_vit() if workload == "vit" else build("fp16", seed=1).step
    for _ in range(WARM_UP):
        step()
    watch = BadSteps(recording, lambda *_, **__: None, asked=False)
    if watched:
        recording.others.append(watch)
    print("ready", flush=True)
    for line in sys.stdin:
        sampled = line.strip() == "watched"
        if sampled and watched:
            watch._start()
        number = 1 if sampled else STEPS
        began = time.process_time()
        for _ in range(number):
            step()
        print((time.process_time() - began) / number, flush=True)


def measure(rounds: int, workload: str) -> dict[str, float]:
    """The median ratio of each kind of step."""
    with tempfile.TemporaryDirectory() as folder:
        processes = []
        for mode in ("recorded", "numerics"):
            Path(folder, mode).mkdir()
            command = [sys.executable, __file__, mode, str(Path(folder, mode)), workload]
            process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
            assert process.stdout is not None
            while process.stdout.readline().strip() != "ready":
                pass
            processes.append(process)
        ratios: dict[str, list[float]] = {"plain": [], "watched": []}
        for _ in range(rounds):
            for kind, found in ratios.items():
                alone, beside = (_ask(process, kind) for process in processes)
                found.append(beside / alone)
        for process in processes:
            process.terminate()
            process.communicate()
    return {kind: statistics.median(found) for kind, found in ratios.items()}


def _ask(process: subprocess.Popen[str], kind: str) -> float:
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(f"{kind}\n")
    process.stdin.flush()
    return float(process.stdout.readline())


if __name__ == "__main__":
    if len(sys.argv) > 3:
        train(watched=sys.argv[1] == "numerics", folder=sys.argv[2], workload=sys.argv[3])
    else:
        rounds, workload = (*sys.argv[1:], *("20", "reference")[len(sys.argv) - 1 :])
        for each, ratio in measure(int(rounds), workload).items():
            print(f"{each:8} {ratio:.3f}")
