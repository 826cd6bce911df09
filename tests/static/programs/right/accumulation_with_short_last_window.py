import torch
from torch import nn


def main():
    model = nn.Linear(6, 3)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    scaler = torch.amp.GradScaler("cuda")
    batches = [(torch.randn(8, 6), torch.randint(0, 3, (8,))) for _ in range(10)]
    window = 4
    for i, (x, y) in enumerate(batches):
        size = min(window, len(batches) - i // window * window)
        with torch.autocast("cuda", dtype=torch.float16):
            loss = nn.functional.cross_entropy(model(x), y) / size
        scaler.scale(loss).backward()
        if (i + 1) % window and i + 1 < len(batches):
            continue
        scaler.unscale_(optimizer)
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad()


if __name__ == "__main__":
    main()
