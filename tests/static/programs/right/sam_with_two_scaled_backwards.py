import torch
from torch import nn


def main():
    model = nn.Linear(6, 3)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    scaler = torch.amp.GradScaler("cuda")

    def loss_of(x, y):
        with torch.autocast("cuda", dtype=torch.float16):
            return nn.functional.cross_entropy(model(x), y)

    for _ in range(6):
        x, y = torch.randn(8, 6), torch.randint(0, 3, (8,))
        optimizer.zero_grad()
        scaler.scale(loss_of(x, y)).backward()
        with torch.no_grad():
            norm = torch.stack([p.grad.norm() for p in model.parameters()]).norm()
            moved = [p.grad * (0.05 / norm) for p in model.parameters()]
            if not norm.isfinite():
                moved = [torch.zeros_like(p) for p in model.parameters()]
            for p, e in zip(model.parameters(), moved):
                p.add_(e)
        optimizer.zero_grad()
        scaler.scale(loss_of(x, y)).backward()
        with torch.no_grad():
            for p, e in zip(model.parameters(), moved):
                p.sub_(e)
        scaler.step(optimizer)
        scaler.update()


if __name__ == "__main__":
    main()
