"""What the recorder costs: a training step with and without it, in turns, by CPU time; and what the start costs.

    python tests/execution/bench_recorder.py [ROUNDS [reference|vit|cnn|gpt|start]]

Two processes train the same thing; in each round both make STEPS steps, in alternating order. What is printed is the
median of the ratios of one round, so a busy machine slows both sides of a ratio alike. `start` runs a program of one
step, plain and probed, in turns.
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
STEPS, WARM_UP = 5, 10


def small(name: str) -> Callable[[], None]:
    """A step in bfloat16 of a small vision transformer, convolutional network or causal language model, by AdamW."""
    import torch
    from torch import nn

    torch.manual_seed(1)
    labels: torch.Tensor
    if name == "cnn":
        widths = [(3, 16), (16, 32), (32, 64)]
        layers = [nn.Sequential(nn.Conv2d(i, o, 3, 2, 1), nn.BatchNorm2d(o), nn.ReLU()) for i, o in widths]
        model = nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, 10))
        inputs, labels, mask = torch.randn(16, 3, 32, 32), torch.randint(10, (16,)), None
    else:
        is_gpt, length = name == "gpt", 32 if name == "gpt" else 17
        layer = nn.TransformerEncoderLayer(64, 4, 128, batch_first=True, dropout=0.0, norm_first=is_gpt)
        first = nn.Embedding(256, 64) if is_gpt else nn.Linear(48, 64)
        blocks = nn.TransformerEncoder(layer, 4, enable_nested_tensor=False)
        model = nn.ModuleList([first, blocks, nn.LayerNorm(64), nn.Linear(64, 256 if is_gpt else 10)])
        inputs = torch.randint(256, (8, length)) if is_gpt else torch.randn(8, length, 48)
        labels = torch.randint(256, (8, length)) if is_gpt else torch.randint(10, (8,))
        mask = nn.Transformer.generate_square_subsequent_mask(length) if is_gpt else None
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)

    def forward() -> torch.Tensor:
        if name == "cnn":
            return model(inputs)
        first, blocks, norm, head = model
        hidden = norm(blocks(first(inputs), mask=mask))
        return head(hidden).flatten(0, 1) if name == "gpt" else head(hidden.mean(1))

    def step() -> None:
        optimizer.zero_grad()
        with torch.autocast("cpu", dtype=torch.bfloat16):
            outputs = forward()
        nn.functional.cross_entropy(outputs.float(), labels.flatten()).backward()  # type: ignore[no-untyped-call]
        optimizer.step()

    return step


def train(recorded: bool, folder: str, workload: str) -> None:
    """Make STEPS steps for each line on standard input, and answer with the CPU seconds of a step."""
    sys.path.insert(0, str(ROOT))
    import torch

    if recorded:
        from verifygate.instrument.recorder.install import install

        install({"folder": folder, "root": str(ROOT)}, print)
    from reference_impl.workload import build

    torch.set_num_threads(1)
    step = build("fp16", seed=1).step if workload == "reference" else small(workload)
    for _ in range(WARM_UP):
        step()
    print("ready", flush=True)
    for _ in sys.stdin:
        began = time.process_time()
        for _ in range(STEPS):
            step()
        print((time.process_time() - began) / STEPS, flush=True)


def measure(rounds: int, workload: str) -> tuple[list[float], float, float]:
    """The ratio of each round, and the least that a plain and a recorded step took, in seconds."""
    with tempfile.TemporaryDirectory() as folder:
        arms = [
            subprocess.Popen(
                [sys.executable, __file__, "--train", kind, folder, workload],
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
            ratios, least = [], dict.fromkeys(arms, float("inf"))
            for number in range(rounds):
                times = dict.fromkeys(arms, 0.0)
                for arm in arms if number % 2 else reversed(arms):
                    assert arm.stdin is not None
                    assert arm.stdout is not None
                    arm.stdin.write("go\n")
                    arm.stdin.flush()
                    times[arm] = float(arm.stdout.readline())
                ratios.append(times[arms[1]] / times[arms[0]])
                least = {arm: min(least[arm], times[arm]) for arm in arms}
            return ratios, least[arms[0]], least[arms[1]]
        finally:
            for arm in arms:
                arm.kill()
                arm.wait()


STARTED = """
import torch
model = torch.nn.Linear(8, 8)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
with torch.autocast("cpu", dtype=torch.bfloat16):
    loss = model(torch.randn(4, 8)).float().pow(2).mean()
loss.backward()
optimizer.step()
"""


def measure_start(rounds: int) -> tuple[float, float]:
    """Seconds of a plain process of one step, and what the probe adds: medians of the rounds."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "train.py").write_text(STARTED)
        plain = [sys.executable, "train.py"]
        probed = [str(Path(sys.executable).with_name("verifygate")), "probe", "--", *plain]
        times: dict[str, list[float]] = {"plain": [], "added": []}
        for _ in range(rounds):
            took = []
            for command in (plain, probed):
                began = time.perf_counter()
                subprocess.run(command, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
                took.append(time.perf_counter() - began)
            times["plain"].append(took[0])
            times["added"].append(took[1] - took[0])
    return statistics.median(times["plain"]), statistics.median(times["added"])


if __name__ == "__main__":
    if sys.argv[1:2] == ["--train"]:
        train(sys.argv[2] == "recorded", sys.argv[3], sys.argv[4])
    else:
        number, workload = (*sys.argv[1:], *("20", "reference")[len(sys.argv) - 1 :])
        if workload == "start":
            alone, added = measure_start(int(number))
            print(f"a plain process of one step takes {alone:.2f} s; the probe adds {added:.2f} s")
        else:
            ratios, step, recorded = measure(int(number), workload)
            low, middle, high = statistics.quantiles(ratios, n=4)
            print(f"{workload}: a step takes {step * 1000:.2f} ms of CPU time at least, recorded {recorded * 1000:.2f}")
            print(f"recorded / plain: median {middle:.3f}, quartiles {low:.3f} to {high:.3f}")
