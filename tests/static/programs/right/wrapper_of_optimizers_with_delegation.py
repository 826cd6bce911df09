import torch
from torch import nn


class Optimizers:
    def __init__(self, *inner):
        self.inner = inner

    def zero_grad(self):
        for each in self.inner:
            each.zero_grad()

    def __iter__(self):
        return iter(self.inner)

    def __len__(self):
        return len(self.inner)


def main():
    body, head = nn.Linear(6, 4), nn.Linear(4, 3)
    optimizers = Optimizers(
        torch.optim.SGD(body.parameters(), lr=0.1),
        torch.optim.Adam(head.parameters(), lr=0.01),
    )
    scaler = torch.amp.GradScaler("cuda")
    for _ in range(5):
        x, y = torch.randn(8, 6), torch.randint(0, 3, (8,))
        optimizers.zero_grad()
        with torch.autocast("cuda", dtype=torch.float16):
            loss = nn.functional.cross_entropy(head(body(x)), y)
        scaler.scale(loss).backward()
        for optimizer in optimizers:
            scaler.unscale_(optimizer)
            for group in optimizer.param_groups:
                nn.utils.clip_grad_norm_(group["params"], 1.0)
            scaler.step(optimizer)
        scaler.update()


if __name__ == "__main__":
    main()
