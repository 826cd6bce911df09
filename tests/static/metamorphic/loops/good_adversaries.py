"""A whole cycle for the critic, then a whole cycle for the maker, with an update each."""

import torch
from torch.amp import GradScaler, autocast


def train(critic, maker, batches):
    critic_optimizer = torch.optim.Adam(critic.parameters(), lr=1e-4)
    maker_optimizer = torch.optim.Adam(maker.parameters(), lr=1e-4)
    scaler = GradScaler("cuda")
    for real in batches:
        real = real.to("cuda")
        noise = torch.randn_like(real)
        critic_optimizer.zero_grad()
        with autocast("cuda", dtype=torch.float16):
            fake = maker(noise)
            critic_loss = critic(fake.detach()).mean() - critic(real).mean()
        scaler.scale(critic_loss).backward()
        scaler.step(critic_optimizer)
        scaler.update()
        maker_optimizer.zero_grad()
        with autocast("cuda", dtype=torch.float16):
            maker_loss = -critic(fake).mean()
        scaler.scale(maker_loss).backward()
        scaler.step(maker_optimizer)
        scaler.update()
    return maker
