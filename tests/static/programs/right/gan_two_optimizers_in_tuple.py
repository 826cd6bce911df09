import torch
from torch import nn


def build():
    nets = nn.Linear(4, 6), nn.Linear(6, 1)
    return nets, tuple(torch.optim.Adam(net.parameters(), lr=0.01) for net in nets)


def main():
    (generator, critic), (opt_g, opt_d) = build()
    scaler_g, scaler_d = (torch.amp.GradScaler("cuda") for _ in range(2))
    for _ in range(6):
        real, noise = torch.randn(8, 6), torch.randn(8, 4)
        for p in critic.parameters():
            p.requires_grad_(True)
        opt_d.zero_grad()
        with torch.autocast("cuda", dtype=torch.float16):
            loss = nn.functional.softplus(-critic(real)).mean() + nn.functional.softplus(critic(generator(noise).detach())).mean()
        scaler_d.scale(loss).backward()
        scaler_d.step(opt_d)
        scaler_d.update()
        for p in critic.parameters():
            p.requires_grad_(False)
        opt_g.zero_grad()
        with torch.autocast("cuda", dtype=torch.float16):
            loss = nn.functional.softplus(-critic(generator(noise))).mean()
        scaler_g.scale(loss).backward()
        scaler_g.step(opt_g)
        scaler_g.update()


if __name__ == "__main__":
    main()
