import torch
from torch import nn


def make_step(model, lr, limit=None):
    opt = torch.optim.SGD(model.parameters(), lr=lr)
    amp = torch.amp.GradScaler("cuda")

    def step(x, y):
        opt.zero_grad()
        with torch.autocast("cuda", dtype=torch.float16):
            loss = nn.functional.mse_loss(model(x), y)
        amp.scale(loss).backward()
        if limit:
            amp.unscale_(opt)
            nn.utils.clip_grad_norm_(model.parameters(), limit)
        amp.step(opt)
        amp.update()

    return step


def main():
    steps = [make_step(nn.Linear(5, 1), 0.1), make_step(nn.Linear(5, 1), 0.05, 1.0)]
    for _ in range(4):
        for step in steps:
            step(torch.randn(8, 5), torch.randn(8, 1))


if __name__ == "__main__":
    main()
