"""A discriminator's loss that goes by way of containers, casts and buffers still reaches the discriminator."""

from collections import deque

import torch
import torch.nn.functional as F


def one_by_one(disc, real, fake):
    losses = []
    for each in (real, fake):
        losses.append(F.softplus(disc(each)).mean())
    return losses


def by_name(disc, real, fake):
    losses = {}
    losses.update(real=F.softplus(-disc(real)).mean())
    losses.setdefault("fake", F.softplus(disc(fake)).mean())
    return losses


def fill(losses, disc, real):
    losses += [disc(real).mean()]


def each_cast(gen, disc, batches, latent):
    optim_g = torch.optim.Adam(gen.parameters())
    optim_d = torch.optim.Adam(disc.parameters())
    scaler = torch.amp.GradScaler("cuda")
    for real in batches:
        with torch.autocast("cuda", dtype=torch.float16):
            fake = gen(latent)
            loss_d = sum(F.softplus(each.float()).mean() for each in (disc(real), disc(fake.detach())))
        optim_d.zero_grad()
        scaler.scale(loss_d).backward()
        scaler.step(optim_d)
        with torch.autocast("cuda", dtype=torch.float16):
            loss_g = F.softplus(-disc(fake)).mean()
        optim_g.zero_grad()
        scaler.scale(loss_g).backward()
        scaler.step(optim_g)
        scaler.update()


def appended(gen, disc, batches, latent):
    optim_g = torch.optim.Adam(gen.parameters())
    optim_d = torch.optim.Adam(disc.parameters())
    scaler = torch.amp.GradScaler("cuda")
    for real in batches:
        with torch.autocast("cuda", dtype=torch.float16):
            fake = gen(latent)
            losses = []
            losses.append(disc(real).mean())
            losses.append(disc(fake.detach()).mean())
            loss_d = sum(losses)
        optim_d.zero_grad()
        scaler.scale(loss_d).backward()
        scaler.step(optim_d)
        with torch.autocast("cuda", dtype=torch.float16):
            loss_g = F.softplus(-disc(fake)).mean()
        optim_g.zero_grad()
        scaler.scale(loss_g).backward()
        scaler.step(optim_g)
        scaler.update()


def appended_by_a_function(gen, disc, batches, latent):
    optim_g = torch.optim.Adam(gen.parameters())
    optim_d = torch.optim.Adam(disc.parameters())
    scaler = torch.amp.GradScaler("cuda")
    for real in batches:
        with torch.autocast("cuda", dtype=torch.float16):
            fake = gen(latent)
            loss_d = torch.stack(one_by_one(disc, real, fake.detach())).mean()
        optim_d.zero_grad()
        scaler.scale(loss_d).backward()
        scaler.step(optim_d)
        with torch.autocast("cuda", dtype=torch.float16):
            loss_g = F.softplus(-disc(fake)).mean()
        optim_g.zero_grad()
        scaler.scale(loss_g).backward()
        scaler.step(optim_g)
        scaler.update()


def under_keys(gen, disc, batches, latent):
    optim_g = torch.optim.Adam(gen.parameters())
    optim_d = torch.optim.Adam(disc.parameters())
    scaler = torch.amp.GradScaler("cuda")
    for real in batches:
        with torch.autocast("cuda", dtype=torch.float16):
            fake = gen(latent)
            losses = {}
            losses["real"] = disc(real).mean()
            losses["fake"] = disc(fake.detach()).mean()
            loss_d = sum(losses.values())
        optim_d.zero_grad()
        scaler.scale(loss_d).backward()
        scaler.step(optim_d)
        with torch.autocast("cuda", dtype=torch.float16):
            loss_g = F.softplus(-disc(fake)).mean()
        optim_g.zero_grad()
        scaler.scale(loss_g).backward()
        scaler.step(optim_g)
        scaler.update()


def under_keys_by_a_function(gen, disc, batches, latent):
    optim_g = torch.optim.Adam(gen.parameters())
    optim_d = torch.optim.Adam(disc.parameters())
    scaler = torch.amp.GradScaler("cuda")
    for real in batches:
        with torch.autocast("cuda", dtype=torch.float16):
            fake = gen(latent)
            loss_d = sum(by_name(disc, real, fake.detach()).values())
        optim_d.zero_grad()
        scaler.scale(loss_d).backward()
        scaler.step(optim_d)
        with torch.autocast("cuda", dtype=torch.float16):
            loss_g = F.softplus(-disc(fake)).mean()
        optim_g.zero_grad()
        scaler.scale(loss_g).backward()
        scaler.step(optim_g)
        scaler.update()


def filled_by_a_function(gen, disc, batches, latent):
    optim_g = torch.optim.Adam(gen.parameters())
    optim_d = torch.optim.Adam(disc.parameters())
    scaler = torch.amp.GradScaler("cuda")
    for real in batches:
        with torch.autocast("cuda", dtype=torch.float16):
            fake = gen(latent)
            losses = []
            fill(losses, disc, real)
            loss_d = sum(losses)
        optim_d.zero_grad()
        scaler.scale(loss_d).backward()
        scaler.step(optim_d)
        with torch.autocast("cuda", dtype=torch.float16):
            loss_g = F.softplus(-disc(fake)).mean()
        optim_g.zero_grad()
        scaler.scale(loss_g).backward()
        scaler.step(optim_g)
        scaler.update()


def in_a_comprehension_of_keys(gen, disc, batches, latent):
    optim_g = torch.optim.Adam(gen.parameters())
    optim_d = torch.optim.Adam(disc.parameters())
    scaler = torch.amp.GradScaler("cuda")
    for real in batches:
        with torch.autocast("cuda", dtype=torch.float16):
            fake = gen(latent)
            loss_d = sum({name: disc(each).mean() for name, each in {"real": real}.items()}.values())
        optim_d.zero_grad()
        scaler.scale(loss_d).backward()
        scaler.step(optim_d)
        with torch.autocast("cuda", dtype=torch.float16):
            loss_g = F.softplus(-disc(fake)).mean()
        optim_g.zero_grad()
        scaler.scale(loss_g).backward()
        scaler.step(optim_g)
        scaler.update()


def written_into_a_tensor(gen, disc, batches, latent):
    optim_g = torch.optim.Adam(gen.parameters())
    optim_d = torch.optim.Adam(disc.parameters())
    scaler = torch.amp.GradScaler("cuda")
    for real in batches:
        with torch.autocast("cuda", dtype=torch.float16):
            fake = gen(latent)
            both = torch.zeros(2)
            both[0] = disc(real).mean()
            both[1] = disc(fake.detach()).mean()
            loss_d = both.sum()
        optim_d.zero_grad()
        scaler.scale(loss_d).backward()
        scaler.step(optim_d)
        with torch.autocast("cuda", dtype=torch.float16):
            loss_g = F.softplus(-disc(fake)).mean()
        optim_g.zero_grad()
        scaler.scale(loss_g).backward()
        scaler.step(optim_g)
        scaler.update()


def added_in_place(gen, disc, batches, latent):
    optim_g = torch.optim.Adam(gen.parameters())
    optim_d = torch.optim.Adam(disc.parameters())
    scaler = torch.amp.GradScaler("cuda")
    for real in batches:
        with torch.autocast("cuda", dtype=torch.float16):
            fake = gen(latent)
            loss_d = torch.zeros(())
            loss_d.add_(disc(fake.detach()).mean())
        optim_d.zero_grad()
        scaler.scale(loss_d).backward()
        scaler.step(optim_d)
        with torch.autocast("cuda", dtype=torch.float16):
            loss_g = F.softplus(-disc(fake)).mean()
        optim_g.zero_grad()
        scaler.scale(loss_g).backward()
        scaler.step(optim_g)
        scaler.update()


def kept_in_an_attribute(gen, disc, batches, latent):
    optim_g = torch.optim.Adam(gen.parameters())
    optim_d = torch.optim.Adam(disc.parameters())
    scaler = torch.amp.GradScaler("cuda")
    for real in batches:
        with torch.autocast("cuda", dtype=torch.float16):
            fake = gen(latent)
            real.out = disc(real)
            loss_d = real.out.mean()
        optim_d.zero_grad()
        scaler.scale(loss_d).backward()
        scaler.step(optim_d)
        with torch.autocast("cuda", dtype=torch.float16):
            loss_g = F.softplus(-disc(fake)).mean()
        optim_g.zero_grad()
        scaler.scale(loss_g).backward()
        scaler.step(optim_g)
        scaler.update()


def in_a_queue(gen, disc, batches, latent):
    optim_g = torch.optim.Adam(gen.parameters())
    optim_d = torch.optim.Adam(disc.parameters())
    scaler = torch.amp.GradScaler("cuda")
    for real in batches:
        with torch.autocast("cuda", dtype=torch.float16):
            fake = gen(latent)
            waiting = deque()
            waiting.append(disc(real).mean())
            loss_d = waiting.pop()
        optim_d.zero_grad()
        scaler.scale(loss_d).backward()
        scaler.step(optim_d)
        with torch.autocast("cuda", dtype=torch.float16):
            loss_g = F.softplus(-disc(fake)).mean()
        optim_g.zero_grad()
        scaler.scale(loss_g).backward()
        scaler.step(optim_g)
        scaler.update()
