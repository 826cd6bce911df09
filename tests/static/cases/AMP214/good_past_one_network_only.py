"""Where one network's gradients are not finite its step is left out, the other's and the update are not."""

import torch


def train(generator, critic, loader, loss_fn, optimizer_g, optimizer_c):
    scaler = torch.amp.GradScaler("cuda")
    for real in loader:
        with torch.autocast("cuda", dtype=torch.float16):
            fake = generator(real)
            loss_c = critic(fake.detach()).mean() - critic(real).mean()
            loss_g = loss_fn(fake, real)
        optimizer_c.zero_grad()
        scaler.scale(loss_c).backward()
        if all(p.grad is None or p.grad.isfinite().all() for p in critic.parameters()):
            scaler.step(optimizer_c)
        else:
            optimizer_c.zero_grad()
        optimizer_g.zero_grad()
        scaler.scale(loss_g).backward()
        scaler.step(optimizer_g)
        scaler.update()
