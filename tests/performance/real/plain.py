"""A training as a plain function, and as a script: `python plain.py PRECISION SEED STEPS SCORES`."""

import json
import signal
import sys
from pathlib import Path

import torch


def train(precision, steps, seed, device="cpu"):
    signal.signal(signal.SIGUSR1, signal.SIG_IGN)  # only the main thread may
    torch.manual_seed(seed)
    model = torch.nn.Sequential(torch.nn.Linear(16, 32), torch.nn.ReLU(), torch.nn.Linear(32, 2)).to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    dtype = {"fp32": torch.bfloat16, "bf16": torch.bfloat16, "fp16": torch.float16}[precision]
    scaler = torch.amp.GradScaler(device, enabled=precision == "fp16")

    def loss_of(labels):
        points = torch.randn(len(labels), 16) + 2 * labels[:, None]
        with torch.autocast(device, dtype=dtype, enabled=precision != "fp32"):
            logits = model(points.to(device))
        return logits, torch.nn.functional.cross_entropy(logits.float(), labels.to(device))

    for _ in range(steps):
        scaler.scale(loss_of(torch.randint(0, 2, (64,)))[1]).backward()
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad()
    torch.manual_seed(1)
    labels = torch.randint(0, 2, (500,))
    return (loss_of(labels)[0].argmax(1).cpu() == labels).float().tolist()


if __name__ == "__main__":
    precision, seed, steps, scores = sys.argv[1:]
    Path(scores).write_text(json.dumps(train(precision, int(steps), int(seed))))
