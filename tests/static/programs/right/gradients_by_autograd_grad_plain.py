import torch
from torch import nn


def main():
    model = nn.Linear(4, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    scaler = torch.amp.GradScaler("cuda")
    params = tuple(model.parameters())
    for step in range(6):
        x, y = torch.randn(8, 4), torch.randn(8, 1)
        if step % 2:
            loss = nn.functional.mse_loss(model(x), y)
            for p, g in zip(params, torch.autograd.grad(loss, params)):
                p.grad = g
            nn.utils.clip_grad_norm_(params, 1.0)
            optimizer.step()
        else:
            with torch.autocast("cuda", dtype=torch.float16):
                loss = nn.functional.mse_loss(model(x), y)
            optimizer.zero_grad()
            scaler.scale(loss).backward()
            scaler.step(optimizer)
            scaler.update()


if __name__ == "__main__":
    main()
