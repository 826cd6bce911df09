"""What is stepped every few batches has its own backward there: nothing is accumulated."""

import torch


def train(critic, generator, critic_optimizer, optimizer, batches, every=5):
    critic_scaler, scaler = torch.amp.GradScaler("cuda"), torch.amp.GradScaler("cuda")
    for number, (real, noise) in enumerate(batches):
        critic_optimizer.zero_grad(set_to_none=True)
        with torch.autocast("cuda", dtype=torch.float16):
            loss = critic(generator(noise).detach()).mean() - critic(real).mean()
        critic_scaler.scale(loss).backward()
        critic_scaler.step(critic_optimizer)
        critic_scaler.update()
        if number % every == 0:
            optimizer.zero_grad(set_to_none=True)
            with torch.autocast("cuda", dtype=torch.float16):
                loss = -critic(generator(noise)).mean()
            scaler.scale(loss).backward()
            scaler.step(optimizer)
            scaler.update()
