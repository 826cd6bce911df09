import torch
from torch import nn


def main():
    model = nn.Linear(6, 3)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    scaler = torch.amp.GradScaler("cuda")
    for _ in range(6):
        x, y = torch.randn(8, 6), torch.randint(0, 3, (8,))
        optimizer.zero_grad()
        with torch.autocast("cuda", dtype=torch.float16):
            loss = nn.functional.cross_entropy(model(x), y)
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        total = torch.stack([p.grad.norm() for p in model.parameters()]).norm()
        factor = (0.3 / (total + 1e-6)).clamp(max=1.0)
        for p in model.parameters():
            p.grad.mul_(factor)
        scaler.step(optimizer)
        scaler.update()


if __name__ == "__main__":
    main()
