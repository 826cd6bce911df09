"""What another optimizer's backward left is zeroed before the backward that is its own."""

import torch


def adversaries(maker, critic, batches, loss_fn, turns):
    ours = torch.optim.AdamW(maker.parameters())
    theirs = torch.optim.AdamW(critic.parameters())
    scaler = torch.amp.GradScaler("cuda")
    for number, (noise, real) in enumerate(batches):
        with torch.autocast("cuda", dtype=torch.float16):
            made = maker(noise)
            our_loss = loss_fn(critic(made))
        scaler.scale(our_loss).backward()
        scaler.step(ours)
        ours.zero_grad()
        theirs.zero_grad()
        if number % turns == 0:
            with torch.autocast("cuda", dtype=torch.float16):
                their_loss = critic(made.detach()).mean() - critic(real).mean()
            scaler.scale(their_loss).backward()
            scaler.step(theirs)
        scaler.update()


def by_name(encoder, head, model, batches, loss_fn):
    """Whose gradients `model` has cannot be told."""
    low = torch.optim.SGD(encoder.parameters(), lr=0.01)
    high = torch.optim.SGD(head.parameters(), lr=0.1)
    scaler = torch.amp.GradScaler("cuda")
    for inputs, targets in batches:
        with torch.autocast("cuda", dtype=torch.float16):
            loss = loss_fn(head(encoder(inputs)), targets)
        scaler.scale(loss).backward()
        scaler.step(low)
        model.zero_grad()
        scaler.step(high)
        scaler.update()
        low.zero_grad()
        high.zero_grad()


def first_phase(maker, critic, theirs, scaler, batches, loss_fn):
    ours = torch.optim.AdamW(maker.parameters())
    for noise, real in batches:
        with torch.autocast("cuda", dtype=torch.float16):
            their_loss = critic(maker(noise).detach()).mean() - critic(real).mean()
        scaler.scale(their_loss).backward()
        scaler.step(theirs)
        with torch.autocast("cuda", dtype=torch.float16):
            our_loss = loss_fn(critic(maker(noise)))
        scaler.scale(our_loss).backward()
        scaler.step(ours)
        scaler.update()
        ours.zero_grad()
        theirs.zero_grad()


def two_phases(maker, critic, batches, loss_fn):
    """In the second one only one of them is left."""
    theirs = torch.optim.AdamW(critic.parameters())
    scaler = torch.amp.GradScaler("cuda")
    first_phase(maker, critic, theirs, scaler, batches, loss_fn)
    for noise, real in batches:
        with torch.autocast("cuda", dtype=torch.float16):
            their_loss = critic(maker(noise).detach()).mean() - critic(real).mean()
        scaler.scale(their_loss).backward()
        scaler.step(theirs)
        scaler.update()
        theirs.zero_grad()
