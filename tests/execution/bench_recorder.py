"""What the recorder costs: the reference's training step with and without it, in turns, by CPU time.

    python tests/execution/bench_recorder.py [ROUNDS]

Two processes train the same thing; in each round both make STEPS steps, in alternating order. What is printed is the
median of the ratios of one round, so a busy machine slows both sides of a ratio alike.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).parents[2]
STEPS, WARM_UP = 5, 10


def train(recorded: bool, folder: str) -> None:
    """Make STEPS steps for each line on standard input, and answer with the CPU seconds of a step."""
    sys.path.insert(0, str(ROOT))
    import torch

    if recorded:
        from verifygate.instrument.recorder.install import install

        install({"folder": folder, "root": str(ROOT)}, print)
    from reference_impl.workload import build

    torch.set_num_threads(1)
    workload = build("fp16", seed=1)
    for _ in range(WARM_UP):
        workload.step()
    print("ready", flush=True)
    for _ in sys.stdin:
        began = time.process_time()
        for _ in range(STEPS):
            workload.step()
        print((time.process_time() - began) / STEPS, flush=True)


def measure(rounds: int) -> tuple[list[float], float]:
    """The ratio of each round, and the plain step in seconds."""
    with tempfile.TemporaryDirectory() as folder:
        arms = [
            subprocess.Popen(
                [sys.executable, __file__, "--train", kind, folder],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
            )
            for kind in ("plain", "recorded")
        ]
        try:
            for arm in arms:
                assert arm.stdout is not None
                assert arm.stdout.readline().strip() == "ready"
            ratios, plain = [], []
            for number in range(rounds):
                times = dict.fromkeys(arms, 0.0)
                for arm in arms if number % 2 else reversed(arms):
                    assert arm.stdin is not None
                    assert arm.stdout is not None
                    arm.stdin.write("go\n")
                    arm.stdin.flush()
                    times[arm] = float(arm.stdout.readline())
                ratios.append(times[arms[1]] / times[arms[0]])
                plain.append(times[arms[0]])
            return ratios, statistics.median(plain)
        finally:
            for arm in arms:
                arm.kill()
                arm.wait()


if __name__ == "__main__":
    if sys.argv[1:2] == ["--train"]:
        train(sys.argv[2] == "recorded", sys.argv[3])
    else:
        ratios, step = measure(int(sys.argv[1]) if len(sys.argv) > 1 else 20)
        low, middle, high = statistics.quantiles(ratios, n=4)
        print(f"a step takes {step * 1000:.2f} ms of CPU time")
        print(f"recorded / plain: median {middle:.3f}, quartiles {low:.3f} to {high:.3f}")
