"""What the watch for inf and NaN costs: the reference's training step with and without it, by CPU time.

    python tests/execution/bench_numerics.py [ROUNDS]

Two processes train the same thing, one under the recorder alone. Each line is a ratio of steps of one kind: the median
over rounds of (with the watch / recorder alone).
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).parents[2]
WARM_UP, STEPS = 8, 5


def train(*, watched: bool, folder: str) -> None:
    """Make STEPS steps for `plain` on standard input, one watched step for `watched`; answer with seconds of a step."""
    sys.path.insert(0, str(ROOT))
    import torch

    from verifygate.instrument.numerics.bad_steps import BadSteps
    from verifygate.instrument.recorder import install as recorder

    recording = recorder.install({"folder": folder, "root": str(ROOT)}, print)
    from reference_impl.workload import build

    torch.set_num_threads(1)
    workload = build("fp16", seed=1)
    for _ in range(WARM_UP):
        workload.step()
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
            workload.step()
        print((time.process_time() - began) / number, flush=True)


def measure(rounds: int) -> dict[str, float]:
    """The median ratio of each kind of step."""
    with tempfile.TemporaryDirectory() as folder:
        processes = []
        for mode in ("recorded", "numerics"):
            Path(folder, mode).mkdir()
            command = [sys.executable, __file__, mode, str(Path(folder, mode))]
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
    if len(sys.argv) > 2:
        train(watched=sys.argv[1] == "numerics", folder=sys.argv[2])
    else:
        for each, ratio in measure(int(sys.argv[1]) if len(sys.argv) > 1 else 20).items():
            print(f"{each:8} {ratio:.3f}")
