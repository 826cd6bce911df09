import torch
from torch import nn


def chunks(batches, size):
    for start in range(0, len(batches), size):
        yield batches[start : start + size]


def main():
    model = nn.Linear(6, 3)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    scaler = torch.amp.GradScaler("cuda")
    batches = [(torch.randn(8, 6), torch.randint(0, 3, (8,))) for _ in range(10)]
    for window in chunks(batches, 4):
        optimizer.zero_grad()
        for x, y in window:
            with torch.autocast("cuda", dtype=torch.float16):
                loss = nn.functional.cross_entropy(model(x), y) / len(window)
            scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()


if __name__ == "__main__":
    main()
