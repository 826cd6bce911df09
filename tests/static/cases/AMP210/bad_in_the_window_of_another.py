"""The scale changes while another optimizer still collects micro-batches."""

import torch


def train(first, second, batches, length):
    of_first = torch.optim.SGD(first.parameters(), lr=0.1)
    of_second = torch.optim.SGD(second.parameters(), lr=0.1)
    scaler = torch.amp.GradScaler("cuda")
    for number, (left, right) in enumerate(batches):
        with torch.autocast("cuda", dtype=torch.float16):
            loss = first(left).mean() / length
        scaler.scale(loss).backward()
        if (number + 1) % length == 0:
            scaler.step(of_first)
            scaler.update()  # expect: AMP210
            of_first.zero_grad()
        with torch.autocast("cuda", dtype=torch.float16):
            other = second(right).mean() / length
        scaler.scale(other).backward()
        if (number + 1) % length == 0:
            scaler.step(of_second)
            scaler.update()
            of_second.zero_grad()
