"""What `probe --health` and `--shadow` cost: the reference's training step with and without them, by CPU time.

    python tests/execution/bench_health.py [ROUNDS]

Two processes train the same thing, one under the recorder alone. Each line is a ratio of steps of one kind: the median
over rounds of (with health / recorder alone). Sampled steps are told apart from those between them.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).parents[2]
WARM_UP, STEPS = 17, 5
"""Behind step 17 there is no sampled one up to 32; a sample is made by beginning one."""


def train(kind: str, folder: str) -> None:
    """Make STEPS steps for `plain` on standard input, one sampled step for `sampled`; answer with seconds of a step."""
    sys.path.insert(0, str(ROOT))
    import torch

    from verifygate.instrument.health import install as health
    from verifygate.instrument.recorder import install as recorder

    recording = recorder.install({"folder": folder, "root": str(ROOT)}, print)
    if kind != "recorded":
        health.install({"values": True, "moves": True, "shadow": kind == "shadow"}, lambda *_, **__: None)
    from reference_impl.workload import build

    torch.set_num_threads(1)
    workload = build("fp16", seed=1)
    for _ in range(WARM_UP):
        workload.step()
    print("ready", flush=True)
    for line in sys.stdin:
        sampled = line.strip() == "sampled"
        looks = [each for each in recording.others if isinstance(each, health.Sampled)]
        for each in looks:
            each._window = 33 if not sampled else 63  # the next one but this is not sampled; or it is
            if sampled:
                each._begin()
        number = 1 if sampled else STEPS
        began = time.process_time()
        for _ in range(number):
            workload.step()
        print((time.process_time() - began) / number, flush=True)
        if sampled:
            for each in looks:
                each.told()  # the next window begins without


def measure(rounds: int) -> dict[str, float]:
    """The median ratio of each kind of step."""
    with tempfile.TemporaryDirectory() as folder:
        arms = {kind: _start(kind, Path(folder, kind)) for kind in ("recorded", "health", "shadow")}
        try:
            ratios: dict[str, list[float]] = {}
            for number in range(rounds):
                for asked in ("plain", "sampled"):
                    order = list(arms) if number % 2 else list(reversed(arms))
                    took = {kind: _ask(arms[kind], asked) for kind in order}
                    for kind in ("health", "shadow"):
                        ratios.setdefault(f"{kind}, {asked} step", []).append(took[kind] / took["recorded"])
            return {name: statistics.median(each) for name, each in ratios.items()}
        finally:
            for arm in arms.values():
                arm.kill()
                arm.wait()


def _start(kind: str, folder: Path) -> subprocess.Popen[str]:
    folder.mkdir()
    command = [sys.executable, __file__, "--train", kind, str(folder)]
    arm = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert arm.stdout is not None
    assert arm.stdout.readline().strip() == "ready"
    return arm


def _ask(arm: subprocess.Popen[str], what: str) -> float:
    assert arm.stdin is not None
    assert arm.stdout is not None
    arm.stdin.write(f"{what}\n")
    arm.stdin.flush()
    return float(arm.stdout.readline())


if __name__ == "__main__":
    if sys.argv[1:2] == ["--train"]:
        train(sys.argv[2], sys.argv[3])
    else:
        for name, ratio in measure(int(sys.argv[1]) if len(sys.argv) > 1 else 20).items():
            print(f"{name}: {ratio:.3f} times the step under the recorder alone")
