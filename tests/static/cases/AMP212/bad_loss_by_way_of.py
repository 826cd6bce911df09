"""The discriminator's optimizer is zeroed between its backward and its step, whichever way its loss goes."""

import torch


def cast_each(gen, disc, batches, latent):
    optim_g = torch.optim.Adam(gen.parameters())
    optim_d = torch.optim.Adam(disc.parameters())
    scaler = torch.amp.GradScaler("cuda")
    for real in batches:
        with torch.autocast("cuda", dtype=torch.float16):
            fake = gen(latent)
            loss_d = disc(real).float().mean() - disc(fake.detach()).float().mean()
        scaler.scale(loss_d).backward()
        optim_d.zero_grad()  # expect: AMP212
        scaler.step(optim_d)
        with torch.autocast("cuda", dtype=torch.float16):
            loss_g = disc(fake).mean()
        optim_g.zero_grad()
        scaler.scale(loss_g).backward()
        scaler.step(optim_g)
        scaler.update()
