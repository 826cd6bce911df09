"""A CUDA graph in float16: forward, loss and backward are recorded; what the host decides stays outside.

`GradScaler.step` asks the device whether to skip, so it cannot be recorded (with a fused and capturable optimizer it
does not ask, and can). The scale is a tensor that the graph reads: `update` may change it between two replays.
"""

from __future__ import annotations

import torch
from torch import nn

from reference_impl.gallery import tasks


def train(steps: int) -> float:
    """Classify digits by replaying one recorded step; returns the held-out accuracy. Needs a CUDA device."""
    torch.manual_seed(0)
    device = torch.device("cuda")
    data, held_out = tasks.digits(device)
    model = tasks.ConvNet().to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)
    scaler = torch.amp.GradScaler("cuda")
    images, labels = (part[:64].clone() for part in data)  # the graph reads these places: all batches are of this size

    def forward_backward() -> None:
        with torch.autocast("cuda", dtype=torch.float16, cache_enabled=False):  # a cast from before would be replayed
            loss = nn.functional.cross_entropy(model(images), labels)
        scaler.scale(loss).backward()

    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):  # libraries choose their kernels outside of the recording
            forward_backward()
            optimizer.zero_grad()
    torch.cuda.current_stream().wait_stream(side)

    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):  # gradients are allocated in here, and each replay writes them anew: no zero_grad
        forward_backward()

    for inputs, targets in tasks.batches(data, 64, steps):
        images.copy_(inputs)
        labels.copy_(targets)
        graph.replay()
        scaler.unscale_(optimizer)
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()

    return tasks.accuracy(model, held_out, torch.autocast("cuda", dtype=torch.float16))


if __name__ == "__main__":
    tasks.main(train, steps=200)
