import torch
from torch import nn


class Average:
    def __init__(self, model, decay):
        self.shadow = {name: p.detach().clone() for name, p in model.named_parameters()}
        self.decay = decay

    @torch.no_grad()
    def update(self, model):
        for name, p in model.named_parameters():
            self.shadow[name].lerp_(p, 1 - self.decay)


def main():
    model = nn.Linear(6, 3)
    average = Average(model, 0.9)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    scaler = torch.amp.GradScaler("cuda")
    for _ in range(6):
        x, y = torch.randn(8, 6), torch.randint(0, 3, (8,))
        optimizer.zero_grad()
        with torch.autocast("cuda", dtype=torch.float16):
            loss = nn.functional.cross_entropy(model(x), y)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        average.update(model)


if __name__ == "__main__":
    main()
