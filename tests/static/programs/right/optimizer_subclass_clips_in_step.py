import torch
from torch import nn


class ClippedSGD(torch.optim.SGD):
    def step(self, closure=None):
        for group in self.param_groups:
            nn.utils.clip_grad_norm_(group["params"], 0.1)
        return super().step(closure)


def main():
    model = nn.Linear(6, 3)
    optimizer = ClippedSGD(model.parameters(), lr=0.1)
    scaler = torch.amp.GradScaler("cuda")
    for _ in range(5):
        x, y = torch.randn(8, 6), torch.randint(0, 3, (8,))
        optimizer.zero_grad()
        with torch.autocast("cuda", dtype=torch.float16):
            loss = nn.functional.cross_entropy(model(x), y)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()


if __name__ == "__main__":
    main()
