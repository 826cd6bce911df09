import torch
from torch import nn


def main():
    critic = nn.Sequential(nn.Linear(6, 8), nn.Tanh(), nn.Linear(8, 1))
    optimizer = torch.optim.Adam(critic.parameters(), lr=0.01)
    scaler = torch.amp.GradScaler("cuda")
    for _ in range(5):
        x = torch.randn(8, 6, requires_grad=True)
        optimizer.zero_grad()
        with torch.autocast("cuda", dtype=torch.float16):
            out = critic(x)
            loss = out.float().mean()
        (grad,) = torch.autograd.grad(scaler.scale(out.float().sum()), x, create_graph=True)
        grad = grad / scaler.get_scale()
        with torch.autocast("cuda", dtype=torch.float16):
            penalty = ((grad.float().norm(2, dim=1) - 1) ** 2).mean()
            loss = loss + 10 * penalty
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()


if __name__ == "__main__":
    main()
