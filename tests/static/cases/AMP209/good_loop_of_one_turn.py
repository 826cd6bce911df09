"""A loop within the loop that has one turn, by a constant, steps once before the update."""

import torch
from torch.amp import GradScaler

D_STEPS = 1


def train(generator, critic, batches):
    optimizer = torch.optim.Adam(generator.parameters())
    critic_optimizer = torch.optim.Adam(critic.parameters())
    scaler = GradScaler("cuda")
    for batch in batches:
        for _ in range(D_STEPS):
            critic_optimizer.zero_grad()
            with torch.autocast("cuda"):
                loss = critic(generator(batch).detach()).mean()
            scaler.scale(loss).backward()
            scaler.unscale_(critic_optimizer)
            scaler.step(critic_optimizer)
        optimizer.zero_grad()
        with torch.autocast("cuda"):
            loss = -critic(generator(batch)).mean()
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
